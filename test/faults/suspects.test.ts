/** Workers that are killed while they hold a job to run alone later. */
import { eventually } from '../support/eventually';
import { requireBuild } from '../support/project';
import { Die, Heed, Link, Take } from './kit/programs/jobs';
import { Stage } from './kit/stage';
import type { WorkerProcess } from './kit/worker-process';

/** Seconds. The lease of workers that are killed. */
const BRIEF = 1;
const SUSPECT = 'suspect';

let stage: Stage;

beforeAll(() => requireBuild());
afterEach(() => stage.close());

const push = async (job: typeof Die | typeof Take, queue = 'default'): Promise<void> => {
  const payload = `{"job":"${job.name}","data":{"milliseconds":0},"id":"${SUSPECT}","crashes":2,"attempts":0}`;
  await stage.driver.push(queue, [{ payload }]);
};

const starts = (id: string): number =>
  stage.ledger.lines.filter((line) => line.event === 'started' && line.id === id).length;

/** Resolves once everybody knows that the worker holds the suspect. */
const heldBy = ({ pid }: WorkerProcess): Promise<unknown> =>
  eventually(
    async () => {
      const connection = stage.manager.connection();
      const workers = await connection.workers();
      const isHeld = workers.some((worker) => worker.pid === pid && worker.waiting?.id === SUSPECT);
      return isHeld && (await connection.find(SUSPECT)).waitsToRunAlone;
    },
    { of: 'the hold' },
  );

describe.each(['redis', 'sqlite', 'postgres', 'mysql'] as const)('on %s, a job on its last chance', (store) => {
  it('is no poison after three workers were killed while they held it beside another job, and runs', async () => {
    stage = await Stage.open(store);
    const connection = stage.manager.connection();
    for (const round of [1, 2, 3]) {
      const [other] = await connection.bulk([new Link(1, round, 600_000)], `other-${round}`);
      const worker = stage.hire({ queue: [`other-${round}`, 'default'], concurrency: 5 }, { lease: BRIEF });
      await eventually(() => starts(other!) === 1, { of: 'its neighbour' });
      if (round === 1) await push(Take);
      await heldBy(worker);
      await worker.kill();
    }

    stage.hire({ queue: 'default' });
    await eventually(() => stage.ledger.count('completed') === 1, { of: 'its run' });
    await stage.dismiss();

    expect(starts(SUSPECT)).toBe(1);
    expect(await stage.manager.failed.list()).toEqual([]);
  });

  it('that kills its process as soon as it runs alone is poison, although it was held before', async () => {
    stage = await Stage.open(store);
    const [other] = await stage.dispatch([new Heed(600_000)]);
    const worker = stage.hire({ concurrency: 5 }, { lease: BRIEF });
    await eventually(() => starts(other!) === 1, { of: 'its neighbour' });
    await push(Die);
    await heldBy(worker);

    await stage.manager.connection().cancel(other!);
    await worker.exited;
    stage.hire();
    await eventually(() => stage.ledger.count('failed') === 1, { of: 'its end' });
    await stage.dismiss();

    expect(starts(SUSPECT)).toBe(1);
    expect(await stage.manager.failed.list()).toMatchObject([
      { id: SUSPECT, exception: expect.stringContaining('E_POISON_JOB') as string },
    ]);
  });
});
