import { Job } from '../../../src/job/job';
import { JobCancelledError } from '../../../src/worker/errors';
import { Worker } from '../../../src/worker/worker';
import { elapse, Gate, testApplication, type TestApplication, until } from '../../support/application';

let application: TestApplication;
let worker: Worker;
let ended: Promise<unknown>;
let gate: Gate;
let reasons: unknown[];
let started: number;

@Job({ name: 'cancel-watch:Long', timeout: 0 })
class Long extends Job {
  async handle(): Promise<void> {
    const { signal } = this;
    started += 1;
    signal.addEventListener('abort', () => reasons.push(signal.reason));
    await gate.opened;
  }
}

beforeEach(() => {
  gate = new Gate();
  reasons = [];
  started = 0;
  application = testApplication({ connections: { memory: { driver: 'memory', retryAfter: 3600 } } });
  worker = new Worker({ concurrency: 200 }, application.manager);
  ended = worker.run();
});

afterEach(async () => {
  gate.open();
  await worker.stop();
  await ended;
  await application.manager.close();
});

const asked = () => jest.spyOn(application.manager.driver().control!, 'cancelled');

it('a job that runs hears within a second that it was cancelled, long before its lease is renewed', async () => {
  const id = await application.bus.dispatch(new Long());
  await until(application.clock, () => started === 1);
  await elapse(application.clock, 2);

  expect(await application.manager.connection().cancel(id)).toBe('signalled');
  await elapse(application.clock, 1);

  expect(reasons).toEqual([expect.any(JobCancelledError)]);
});

it('one that was cancelled as soon as it ran hears of it within a second as well', async () => {
  await elapse(application.clock, 1);
  const id = await application.bus.dispatch(new Long());
  await until(application.clock, () => started === 1);

  await application.manager.connection().cancel(id);
  await elapse(application.clock, 1);

  expect(reasons).toHaveLength(1);
});

it('those that run long are asked for by the hundred, those that have just begun not at all, and nobody when nothing runs', async () => {
  const cancelled = asked();
  await application.bus.bulk(Array.from({ length: 150 }, () => new Long()));
  await until(application.clock, () => started === 150);

  await application.clock.advance('500ms');
  expect(cancelled).not.toHaveBeenCalled();
  await application.clock.advance('450ms');
  expect(cancelled.mock.calls.map(([reservations]) => reservations.length)).toEqual([100, 50]);

  gate.open();
  await until(application.clock, () => worker.health().outcomes.completed === 150);
  await elapse(application.clock, 1);
  cancelled.mockClear();
  await elapse(application.clock, 10);
  expect(cancelled).not.toHaveBeenCalled();
});

it('the reason that was given is that of the signal, of the hook and of the log line', async () => {
  const heard: unknown[] = [];
  application.manager.hooks.on('cancelled', ({ reason }) => void heard.push(reason));
  const id = await application.bus.dispatch(new Long());
  await until(application.clock, () => started === 1);

  await application.manager.connection().cancel(id, { reason: 'wrong address' });
  await elapse(application.clock, 2);
  gate.open();
  await until(application.clock, () => heard.length > 0);

  expect(reasons).toEqual([expect.objectContaining({ reason: 'wrong address' })]);
  expect((reasons[0] as Error).message).toContain('was cancelled (wrong address)');
  expect(heard).toEqual(['wrong address']);
  const line = application.log.lines.find(
    ({ message }) => message === 'cancel-watch:Long was cancelled: wrong address',
  );
  expect(line).toMatchObject({ level: 'info', facts: { reason: 'wrong address' } });
});

it('a renewal that tells of it before a look did has the reason asked for', async () => {
  const looks = asked().mockRejectedValue(new Error('away'));
  jest.spyOn(application.manager.driver(), 'renew').mockImplementation(() => {
    looks.mockRestore();
    return Promise.resolve(['cancelled']);
  });
  const id = await application.bus.dispatch(new Long());
  await until(application.clock, () => started === 1);
  await application.manager.connection().cancel(id, { reason: 'wrong address' });

  await application.clock.advance('1200s');
  await until(application.clock, () => reasons.length > 0);

  expect(reasons).toEqual([expect.objectContaining({ reason: 'wrong address' })]);
});

it('a store that does not say is asked again', async () => {
  asked().mockRejectedValueOnce(new Error('away'));
  const id = await application.bus.dispatch(new Long());
  await until(application.clock, () => started === 1);
  await application.manager.connection().cancel(id);

  await elapse(application.clock, 2);

  expect(reasons).toHaveLength(1);
});
