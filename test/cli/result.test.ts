/** The results of jobs on the command line: `result`, and in `inspect`. */
import { QueueManager } from '../../src/application/queue-manager';
import { systemClock } from '../../src/base/clock';
import { builtInConnectors } from '../../src/connections/built-in';
import { JobBus } from '../../src/dispatch/bus';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { RecordingLogger } from '../support/application';
import { CommandKit } from './kit/command-kit';

const MOMENT = new Date('2027-03-27T12:00:00Z');

@Job({ name: 'Result.Given', keepResult: '1h', tries: 1 })
class Given extends Job {
  constructor(readonly at: Date) {
    super();
  }
  handle(): object {
    if (this.at.getTime() === 0) throw new RangeError('no such day');
    return { at: this.at, seats: new Map([['a', 1n]]), password: 'hunter2' };
  }
}

let kit: CommandKit;
let manager: QueueManager;

beforeEach(() => {
  kit = new CommandKit();
  kit.connectors = { ...builtInConnectors, ...kit.connectors };
  manager = new QueueManager(
    { connectors: kit.connectors, clock: systemClock, logger: new RecordingLogger() },
    { connections: { memory: { driver: 'memory' } } },
  );
});
afterEach(async () => {
  await manager.close();
  await kit.close();
});

const dispatch = (at: Date): Promise<string> => new JobBus(() => manager).dispatch(new Given(at));
const work = (): Promise<unknown> => new Worker({ stopWhenEmpty: true }, manager).run();

it('shows the result as its classes have it, with secrets masked, and with --json as it travels', async () => {
  const id = await dispatch(MOMENT);
  await work();

  const { stdout, code } = await kit.run('result', id);
  expect(stdout).toContain("at: 2027-03-27T12:00:00.000Z, seats: Map(1) { 'a' => 1n }, password: ");
  expect(stdout).not.toContain('hunter2');
  expect(code).toBe(0);
  const json = JSON.parse((await kit.run('result', id, '--json')).stdout) as object;
  expect(json).toMatchObject({
    id,
    state: 'completed',
    value: { at: '2027-03-27T12:00:00.000Z' },
    types: { '/at': 'Date' },
  });
  for (const command of ['result', 'inspect'])
    expect((await kit.run(command, id, '--reveal')).stdout).toContain("password: 'hunter2'");
  expect((await kit.run('inspect', id)).stdout).toMatch(/^Result {6}\{ at: 2027-03-27T12:00:00\.000Z, /m);
  expect(JSON.parse((await kit.run('inspect', id, '--json')).stdout)).toMatchObject({
    result: { value: { at: '2027-03-27T12:00:00.000Z' } },
  });
});

it('says what a job without a result is', async () => {
  const waiting = await dispatch(new Date(0));
  expect((await kit.run('inspect', waiting)).stdout).toContain('Data        Given { at: 1970-01-01T00:00:00.000Z }');
  const pending = await kit.run('result', waiting);
  expect(pending.stderr).toContain(
    'is ready and waits for a worker after 0 s. Ask again, or wait longer: --within=5m.',
  );
  expect(pending.code).toBe(1);
  await work();

  const failed = await kit.run('result', waiting, '--json');
  expect(JSON.parse(failed.stdout)).toMatchObject({ id: waiting, state: 'failed' });
  expect(failed.stderr).toContain('has failed: RangeError: no such day');
  expect(failed.code).toBe(1);
  expect((await kit.run('result', 'nobody')).stderr).toContain('There is no result of nobody on memory');
  expect((await kit.run('result', waiting, '--within=soon')).code).toBe(2);
});
