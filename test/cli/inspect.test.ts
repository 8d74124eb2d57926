/** Everything about one job: `inspect`. */
import { QueueManager } from '../../src/application/queue-manager';
import { systemClock } from '../../src/base/clock';
import { builtInConnectors } from '../../src/connections/built-in';
import { JobBus } from '../../src/dispatch/bus';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { RecordingLogger } from '../support/application';
import { CommandKit } from './kit/command-kit';

@Job({ name: 'Inspected', queue: 'mail' })
class Inspected extends Job {
  constructor(
    readonly to: string,
    readonly apiToken = 'hunter2',
  ) {
    super();
  }
  handle(): void {
    if (this.to === 'nobody') throw new RangeError('no\u001B[31m such address');
    if (this.to !== 'loud') return;
    this.job.log('fetched 3 pages');
    this.job.log(`with \u001B[31mred password=${this.apiToken}`);
  }
}

let kit: CommandKit;
let manager: QueueManager;

beforeEach(() => {
  kit = new CommandKit();
  kit.connectors = { ...builtInConnectors, ...kit.connectors };
  manager = new QueueManager(
    { connectors: kit.connectors, clock: systemClock, logger: new RecordingLogger() },
    { connections: { memory: { driver: 'memory' } }, history: { completed: '1h' } },
  );
});
afterEach(async () => {
  await manager.close();
  await kit.close();
});

const dispatch = (to: string): Promise<string> => new JobBus(() => manager).dispatch(new Inspected(to));

const work = (): Promise<unknown> => new Worker({ queue: 'mail', stopWhenEmpty: true }, manager).run();

it('shows the attempts and error of a failed job, and which commands apply', async () => {
  const id = await dispatch('nobody');
  await work();
  kit.columns = 60;
  await kit.clock.advance('5m');

  const { stdout, code } = await kit.run('inspect', id);

  expect(code).toBe(0);
  expect(stdout).toMatch(
    new RegExp(
      [
        'Job         Inspected',
        `Id          ${id}`,
        'State       failed',
        'On          memory, queue mail',
        'Attempts    1',
        String.raw`Sent        \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, [\dms ]+ ago`,
        String.raw`Failed at   .* UTC, [\dms ]+ ago`,
        String.raw`Data        Inspected \{ to: 'nobody', apiToken: '.*' \}`,
        '',
        String.raw`Attempt 1: failed after \d+ ms, .* UTC`,
        String.raw`  on .*:\d+`,
        '  RangeError: no such address',
        String.raw`  .*inspect\.test\.ts:\d+`,
      ].join('\n'),
    ),
  );
  expect(stdout).toMatch(/^ {2}> {1,2}\d+ .* throw new RangeError\(.*$/m);
  expect(stdout).toContain(`\n\n  onqueue retry ${id}  sends it again\n  onqueue forget ${id}  removes it for good\n`);
  expect(stdout).not.toContain('hunter2');
  expect(stdout).not.toContain('\u001B');
});

it('shows where a waiting job is, with the options of its dispatch and how to cancel it', async () => {
  const bus = new JobBus(() => manager);
  const chain = bus.chain([new Inspected('ada').delay('1h'), new Inspected('bo'), new Inspected('cy').onQueue('late')]);
  const id = await chain.catch(new Inspected('dee')).dispatch();

  const { stdout } = await kit.run('inspect', id, '--connection=memory', '--queue=mail');

  expect(stdout).toMatch(/^State {7}delayed$/m);
  expect(stdout).toMatch(/^Followed by Inspected \(mail\), Inspected \(late\); if one fails: Inspected \(mail\)$/m);
  expect(stdout).toMatch(/^Ready at {4}\S+ \S+ UTC$/m);
  expect(stdout).toContain(`onqueue promote ${id} --connection=memory  runs it now`);
  expect(stdout).toContain(`onqueue cancel ${id} --connection=memory  keeps it from running`);
});

it('shows a completed job if it is remembered', async () => {
  const id = await dispatch('ada');
  await work();

  const { stdout } = await kit.run('inspect', id);

  expect(stdout).toMatch(/^State {7}completed$/m);
  expect(stdout).toMatch(/^Attempt 1: completed after \d+ ms/m);
});

it('prints one JSON document', async () => {
  const id = await dispatch('nobody');
  await work();

  const document: unknown = JSON.parse((await kit.run('inspect', id, '--json')).stdout);

  expect(document).toMatchObject({
    id,
    state: 'failed',
    history: [{ attempt: 1, outcome: 'failed', at: expect.stringMatching(/Z$/) }],
    exception: expect.stringContaining('at Inspected.handle'),
  });
});

it('says if nothing is known about a job', async () => {
  const { stdout, stderr, code } = await kit.run('inspect', 'nobody');

  expect([stdout, code]).toEqual(['', 1]);
  expect(stderr).toContain("Nothing is known of a job 'nobody' on memory");
});

it('shows what a job has logged in all its attempts, oldest first, without its control characters', async () => {
  const id = await dispatch('loud');
  await work();

  const { stdout } = await kit.run('inspect', id);
  const { lines } = JSON.parse((await kit.run('inspect', id, '--json')).stdout) as { readonly lines: unknown };

  expect(stdout).toMatch(/UTC {2}fetched 3 pages\n.*UTC {2}with red password=\S+\n/);
  expect(stdout).not.toContain('hunter2');
  expect(stdout).not.toContain('\u001B');
  expect(lines).toMatchObject([{ text: 'fetched 3 pages' }, { text: expect.stringContaining('red') }]);
});

it('lists the steps that a failed job has done, and retry --from-start forgets them', async () => {
  const id = await dispatch('nobody');
  await work();
  const { records } = manager.driver();
  const steps = [{ name: 'down\u001B[31mload', at: kit.clock.now(), ms: 1200, command: 1 }];
  const value = JSON.stringify({ fence: 1, steps, cursors: [] });
  await records!.put([{ kind: 'checkpoint', id: `memory:${id}`, value }], 60);

  const { stdout } = await kit.run('inspect', id);
  await kit.run('retry', id, '--from-start');

  expect(stdout).toMatch(/✓ download {2}\d{4}-.* took 1200 ms/);
  expect(stdout).toContain(`onqueue retry --from-start ${id}`);
  expect(await records!.get('checkpoint', `memory:${id}`)).toBeUndefined();
  expect(await manager.connection().find(id)).toMatchObject({ state: 'ready', steps: undefined });
});
