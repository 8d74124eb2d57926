/** Histories and results of jobs whose workers are killed. */
import { eventually } from '../support/eventually';
import { requireBuild } from '../support/project';
import type { FoundJob } from '../../src/operations/found-job';
import { Give, Heed } from './kit/programs/jobs';
import { Stage } from './kit/stage';

/** Seconds. The lease of the worker that is killed. That of the other lasts as long as it needs. */
const BRIEF = 0.2;

let stage: Stage;

beforeAll(() => requireBuild());
afterEach(() => stage.close());

const find = (): Promise<FoundJob> => stage.manager.connection().find(stage.dispatched[0]!);

describe.each(['redis', 'sqlite', 'postgres'] as const)('on %s', (store) => {
  it('the history of a job shows an attempt in which the worker was killed', async () => {
    stage = await Stage.open(store);
    await stage.dispatch([new Heed(60_000)]);
    const killed = stage.hire({}, { lease: BRIEF });
    await eventually(() => stage.ledger.count('started') === 1, { of: 'the start' });
    stage.disturbed.add(killed.pid);
    await killed.kill();

    stage.hire();
    await stage.drained();
    await stage.dismiss();

    const { history } = await find();
    expect(history).toMatchObject([
      { fence: 1, attempt: 1, outcome: 'crashed' },
      { fence: 2, attempt: 1, outcome: 'completed' },
    ]);
    expect(history[0]?.at).toBeInstanceOf(Date);
  });

  it('another process gets the result of a job from the run that counts', async () => {
    stage = await Stage.open(store);
    await stage.dispatch([new Give(0)]);
    const [id = ''] = stage.dispatched;
    const result = stage.manager.connection().result(id, { within: '4m' });
    // The worker dies after the result was written, but before the end of the job was.
    const killed = stage.hire({}, { lease: BRIEF, halts: { by: 'SIGKILL', when: 'before' } });
    stage.disturbed.add(killed.pid);
    await killed.exited;
    const first = await stage.driver.records!.get('results', id);

    const other = stage.hire();
    expect(await result).toEqual({ pid: other.pid, at: new Date(0) });
    expect(first).toContain(String(killed.pid));
    await stage.dismiss();
  });
});
