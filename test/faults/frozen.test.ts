import { eventually } from '../support/eventually';
import { requireBuild } from '../support/project';
import { Resume, Take } from './kit/programs/jobs';
import { Stage } from './kit/stage';
import type { WorkerProcess } from './kit/worker-process';

/** Seconds. The lease of the worker that is frozen. That of the other lasts as long as it needs. */
const BRIEF = 0.2;
/** For one that works before it is frozen: a machine that is busy for a moment must not end its lease. */
const LONGER = 3;

let stage: Stage;
let frozen: WorkerProcess;

beforeAll(() => requireBuild());
afterEach(() => stage.close());

/** Starts a worker that is frozen before it gets the reply to its reserve. */
async function given(store: 'redis' | 'sqlite'): Promise<void> {
  stage = await Stage.open(store);
  await stage.dispatch([new Take(0)]);
  frozen = stage.hire({}, { lease: BRIEF, freezes: true });
  stage.disturbed.add(frozen.pid);
  await eventually(() => frozen.isFrozen, { of: 'the freeze' });
}

const startedBy = ({ pid }: WorkerProcess): number =>
  stage.ledger.lines.filter((line) => line.pid === pid && line.event === 'started').length;

describe.each(['redis', 'sqlite'] as const)(
  'on %s, a worker that was frozen while the reply to its reserve came',
  (store) => {
    it('does not start a job that another worker has by then', async () => {
      await given(store);
      stage.hire();
      await eventually(() => stage.ledger.count('completed') === 1, { of: 'the run elsewhere' });

      frozen.thaw();
      await eventually(() => stage.ledger.count('lost') === 1, { of: 'the refusal' });
      await stage.dismiss();

      expect(startedBy(frozen)).toBe(0);
      expect(await stage.account()).toMatchObject({ completed: 1, again: 0, offences: [] });
    });

    it('renews the expired lease and runs the job if no other worker has it', async () => {
      await given(store);
      const [job] = await stage.driver.queues.peek!('default', 'reserved', 1);
      await eventually(() => Date.now() > job!.at!, { of: 'the end of the lease' });

      frozen.thaw();
      await stage.drained();
      await stage.dismiss();

      expect(startedBy(frozen)).toBe(1);
      expect(await stage.account()).toMatchObject({ completed: 1, again: 0, refused: 0, offences: [] });
    });
  },
);

it.each(['redis', 'sqlite'] as const)(
  'on %s, a worker that is frozen in the middle of a long job and thaws when another has ended it keeps nothing',
  async (store) => {
    stage = await Stage.open(store);
    await stage.dispatch([new Resume(100, 20)]);
    frozen = stage.hire({}, { lease: LONGER });
    stage.disturbed.add(frozen.pid);
    await eventually(() => stage.ledger.lines.some(({ note }) => note === 'row 5'), { of: 'the fifth row' });
    frozen.freeze();
    const other = stage.hire();
    await stage.drained();
    await eventually(() => stage.ledger.count('completed') === 1, { of: 'the run elsewhere' });

    frozen.thaw();
    await eventually(() => stage.ledger.count('lost') === 1, { of: 'the refusal' });
    await stage.dismiss();

    const ran = stage.ledger.lines.filter(({ event, note }) => event === 'said' && note.startsWith('step'));
    expect(ran.map(({ pid, note }) => [pid === other.pid, note])).toEqual([
      [false, 'step 1'],
      [false, 'step 2'],
      [true, 'step 3'],
      [true, 'step 4'],
      [true, 'step 5'],
    ]);
    expect(await stage.driver.records!.list('checkpoint', { limit: 10 })).toEqual([]);
    expect(await stage.account()).toMatchObject({ completed: 1, offences: [] });
  },
);
