/** `tail`: how jobs end, as it happens. */
import '../../src/composition';
import { QueueManager } from '../../src/application/queue-manager';
import { systemClock } from '../../src/base/clock';
import { JobBus } from '../../src/dispatch/bus';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { RecordingLogger } from '../support/application';
import { eventually } from '../support/eventually';
import { CommandKit } from './kit/command-kit';

@Job({ queue: 'mail', tries: 1 })
class Delivers extends Job {
  constructor(readonly isRefused = false) {
    super();
  }
  handle(): void {
    if (this.isRefused) throw new Error('the mailbox is full');
  }
}

let kit: CommandKit;
let manager: QueueManager;

beforeEach(() => {
  kit = new CommandKit();
  manager = new QueueManager(
    { connectors: kit.connectors, clock: systemClock, logger: new RecordingLogger() },
    { connections: { memory: { driver: 'memory' } } },
  );
});

afterEach(async () => {
  await manager.close();
  await kit.close();
});

/** Runs jobs until `word` is printed, because a listener may miss what happens before workers know of it. */
async function shown(word: string, ...line: readonly string[]): Promise<string> {
  const tailing = kit.run('tail', ...line);
  const bus = new JobBus(() => manager);
  const worker = new Worker({ queue: 'mail' }, manager);
  const running = worker.run();
  await eventually(
    async () => {
      await bus.bulk([new Delivers(), new Delivers(true)]);
      return kit.printed.includes(word);
    },
    { of: word },
  );
  await worker.stop();
  await running;
  kit.signal('SIGTERM');
  const { stdout, code } = await tailing;
  expect(code).toBe(0);
  return stdout;
}

describe('tail', () => {
  it('has a line for each job that ends, and why it failed', async () => {
    const text = await shown('failed');
    expect(text).toMatch(/^\d\d:\d\d:\d\d {2}completed {3}Delivers {2}mail {2}[\da-f-]{36}$/m);
    expect(text).toMatch(
      /^\d\d:\d\d:\d\d {2}failed {6}Delivers {2}mail {2}[\da-f-]{36} .*Error: the mailbox is full$/m,
    );
    expect(text).not.toContain('started');
  });

  it('has a document for each line with --json, and starts with --all', async () => {
    const lines = (await shown('"failed"', '--json', '--all', '--queue=mail')).trimEnd().split('\n');
    const events = lines.map((line) => JSON.parse(line) as object);
    expect(events).toContainEqual(expect.objectContaining({ type: 'started', name: 'Delivers', queue: 'mail' }));
    expect(events).toContainEqual(expect.objectContaining({ type: 'failed', error: 'Error: the mailbox is full' }));
  });

  it('refuses an empty name', async () => {
    expect(await kit.run('tail', '--name=a,,b')).toMatchObject({ code: 2 });
  });
});
