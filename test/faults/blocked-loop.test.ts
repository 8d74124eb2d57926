import { eventually } from '../support/eventually';
import { Project, requireBuild, root } from '../support/project';
import { Block, Stall, StallForGood, StallUnread, Take } from './kit/programs/jobs';
import { meantToPass } from '../support/meant-to-pass';
import { Stage, type StageOptions, type StoreName } from './kit/stage';

/** Seconds. Used only if the lease matters. No other test here waits for a lease to end or may lose one. */
const LEASE = meantToPass(2);
/** Milliseconds. Beyond any timeout, and longer than the thread takes to notice. */
const LONG = 5000;
const COMMAND_LINE = { endsProcess: true };

beforeAll(() => {
  requireBuild();
  // A debugger that attaches to a process gets a port of its own.
  jest.replaceProperty(process, 'env', { ...process.env, NODE_OPTIONS: '--inspect-port=0' });
});

/** Plays a test on both stores at once, beside the other tests, because they mostly wait. */
function onEach(play: (stage: Stage) => Promise<void>, options?: StageOptions): () => Promise<void> {
  return async () => {
    const played = await Promise.allSettled((['redis', 'sqlite'] as const).map((store) => on(store, play, options)));
    for (const one of played) if (one.status === 'rejected') throw one.reason;
  };
}

async function on(store: StoreName, play: (stage: Stage) => Promise<void>, options?: StageOptions): Promise<void> {
  const stage = await Stage.open(store, options);
  try {
    await play(stage);
  } finally {
    await stage.close();
  }
}

/** The attempts that the runs of a job counted as. */
const attemptsOf = ({ ledger }: Stage, job: string | undefined): number[] =>
  ledger.lines.filter(({ id, event }) => id === job && event === 'started').map(({ attempts }) => attempts);

const started = ({ ledger }: Stage, count: number): Promise<unknown> =>
  eventually(() => ledger.count('started') >= count);

it.concurrent(
  'an event loop blocked for three leases costs no job its lease: each runs once, in its first try',
  onEach(
    async (stage) => {
      await stage.dispatch([new Take(500), new Take(500), new Block(3 * LEASE * 1000)]);
      stage.hire({ concurrency: 3 });
      await started(stage, 3);
      stage.hire({ concurrency: 3 });

      await stage.drained();
      await stage.dismiss();

      expect(await stage.account()).toMatchObject({ completed: 3, again: 0, refused: 0, offences: [] });
    },
    { lease: LEASE },
  ),
);

describe('a handler that blocks the event loop past timeout and grace', () => {
  it.concurrent(
    'ends a process of the command: the job is recorded as timed out, and its neighbours run elsewhere in their first try',
    onEach(async (stage) => {
      const [neighbour, job] = await stage.dispatch([new Take(300), new Stall(60_000)]);
      const first = stage.hire({ concurrency: 2, grace: meantToPass('200ms') }, COMMAND_LINE);
      stage.disturbed.add(first.pid);

      expect(await first.exited).toMatchObject({ code: 70 });
      stage.hire({ concurrency: 2 });
      await stage.drained();
      await stage.dismiss();

      expect(attemptsOf(stage, job)).toEqual([1, 2]);
      expect(attemptsOf(stage, neighbour)).toEqual([1, 1]);
      expect((await stage.account({ firstTries: false })).offences).toEqual([]);
      expect(first.account).toContain(`Stall ${job}: recorded as timed out`);
      expect(first.account).toMatch(/at stall \(.*jobs\.js:\d+:\d+\)\n +at keepBusy .*\n +at handle/);
    }),
  );

  it.concurrent(
    'and has failOnTimeout is failed by the next worker without running again',
    onEach(async (stage) => {
      const [job] = await stage.dispatch([new StallForGood(60_000)]);
      await stage.hire({ grace: meantToPass('200ms') }, COMMAND_LINE).exited;

      stage.hire();
      await stage.drained();

      expect(attemptsOf(stage, job)).toEqual([1]);
      const exception = expect.stringContaining('JobTimedOutError') as string;
      expect(await stage.manager.failed.get(job!)).toMatchObject({ exception });
    }),
  );

  it.concurrent(
    'while its data are decoded loses a try too',
    onEach(async (stage) => {
      const [job] = await stage.dispatch([new StallUnread()]);
      const first = stage.hire({ grace: meantToPass('200ms') }, COMMAND_LINE);

      expect(await first.exited).toMatchObject({ code: 70 });
      stage.hire();
      await stage.drained();

      expect(attemptsOf(stage, job)).toEqual([]);
      expect(await stage.manager.failed.get(job!)).toMatchObject({
        exception: expect.stringContaining('used up its tries (1, of which 1 timed out)') as string,
      });
      expect(first.account).toContain(`StallUnread ${job}: recorded as timed out`);
    }),
  );

  it.concurrent(
    "does not end a user's own process: the timeout is recorded, and the late outcome is refused",
    onEach(async (stage) => {
      const [neighbour, job] = await stage.dispatch([new Take(300), new Stall('until told')]);
      const first = stage.hire({ concurrency: 2, grace: meantToPass('200ms') });
      stage.disturbed.add(first.pid);
      await started(stage, 2);
      stage.hire();

      await eventually(() => attemptsOf(stage, job).length === 2, { of: 'the next attempt' });
      stage.tell();
      await eventually(() => stage.ledger.count('lost') === 1, { of: 'the refusal' });
      await stage.drained();
      expect(await first.terminate()).toMatchObject({ code: 0 });

      expect(attemptsOf(stage, job)).toEqual([1, 2]);
      expect(attemptsOf(stage, neighbour)).toEqual([1]);
      expect(await stage.account({ firstTries: false })).toMatchObject({ completed: 2, refused: 1, offences: [] });
      expect(first.account.match(/stands still/g)).toHaveLength(1);
      const note = expect.stringContaining('stands still') as string;
      expect(stage.ledger.lines).toContainEqual(expect.objectContaining({ pid: first.pid, event: 'said', note }));
    }),
  );

  it.concurrent('is left alone while a debugger is attached, even one attached during the block', () =>
    on('sqlite', async (stage) => {
      const [job] = await stage.dispatch([new Stall(LONG)]);
      const first = stage.hire({ grace: meantToPass('200ms') }, COMMAND_LINE);
      await started(stage, 1);

      process.kill(first.pid, 'SIGUSR1');

      await eventually(() => stage.ledger.count('completed') === 1);
      expect(await first.terminate()).toMatchObject({ code: 0 });
      expect(attemptsOf(stage, job)).toEqual([1]);
      expect(first.account).toBe('');
    }));

  it.concurrent('is shown with the lines of its TypeScript sources', async () => {
    const project = new Project();
    project.linkPackage();
    project.write(
      'onqueue.config.ts',
      `export default { connections: { s: { driver: 'database', url: 'sqlite:./q' } } };`,
    );
    project.write(
      'hog.ts',
      `import { Job } from 'onqueue';
interface Size {
  readonly width: number;
}
@Job({ timeout: '${meantToPass('200ms')}', tries: 1 })
export class Hog extends Job {
  handle(): void {
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  }
}
void Hog.dispatch();`,
    );
    const line = [`${root}/dist/cli/bin.js`, 'work', '--no-supervisor', '--require=hog.ts', '--grace=0'];

    const { code, stderr } = await project.run(line);
    project.remove();

    expect(stderr).toMatch(/\\n +at handle \([^)]*hog\.ts:8:\d+\)/);
    expect(code).toBe(70);
  });

  it.concurrent(
    'in native code ends the process with a signal',
    onEach(async (stage) => {
      const [job] = await stage.dispatch([new Stall('native')]);
      const first = stage.hire({ grace: meantToPass('200ms') }, COMMAND_LINE);

      expect(await first.exited).toMatchObject({ signal: 'SIGKILL' });
      stage.hire();
      await stage.drained();

      expect(attemptsOf(stage, job)).toEqual([1, 2]);
      expect(first.account).toContain('native code');
    }),
  );
});
