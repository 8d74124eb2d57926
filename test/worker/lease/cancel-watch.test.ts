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

it('aborts a running job within a second of its cancellation, long before its lease is renewed', async () => {
  const id = await application.bus.dispatch(new Long());
  await until(application.clock, () => started === 1);
  await elapse(application.clock, 2);

  expect(await application.manager.connection().cancel(id)).toBe('signalled');
  await elapse(application.clock, 1);

  expect(reasons).toEqual([expect.any(JobCancelledError)]);
});

it('aborts a job within a second that was cancelled as soon as it ran', async () => {
  await elapse(application.clock, 1);
  const id = await application.bus.dispatch(new Long());
  await until(application.clock, () => started === 1);

  await application.manager.connection().cancel(id);
  await elapse(application.clock, 1);

  expect(reasons).toHaveLength(1);
});

it('asks for running jobs in pages of 100, but not for jobs that have just started, and not at all when nothing runs', async () => {
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

it('passes the reason of a cancellation to the signal, the hook and the log', async () => {
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

it('asks for the reason if a renewal reports the cancellation first', async () => {
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

it('asks the store again after an error', async () => {
  asked().mockRejectedValueOnce(new Error('away'));
  const id = await application.bus.dispatch(new Long());
  await until(application.clock, () => started === 1);
  await application.manager.connection().cancel(id);

  await elapse(application.clock, 2);

  expect(reasons).toHaveLength(1);
});
