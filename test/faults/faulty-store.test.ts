import { Job } from '../../src/job/job';
import { LeaseLostError } from '../../src/worker/errors';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { elapse as elapseOn, Gate, until as untilOn } from '../support/application';
import { type Fault, faultyApplication, type FaultyApplication, type Faults } from './faulty-connection';
import { reserveFrom } from '../support/exchange';

let application: FaultyApplication;
let faults: Faults;
let connection: FaultyApplication['connection'];
let ran: string[];
let gate: Gate;
let reasons: unknown[];

@Job({ tries: 3 })
class Note extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(this.text);
  }
}

@Job({ timeout: 0 })
class Held extends Job {
  async handle(): Promise<void> {
    this.signal.addEventListener('abort', () => reasons.push(this.signal.reason));
    ran.push('held');
    await gate.opened;
  }
}

beforeEach(() => {
  ran = [];
  reasons = [];
  gate = new Gate();
  application = faultyApplication();
  ({ faults, connection } = application);
});

afterEach(async () => {
  gate.open();
  await application.manager.close();
});

const away: Fault = { kind: 'reject', error: new Error('the store is away') };
const worker = (options: WorkerOptions = {}): Worker => new Worker({ drain: true, ...options }, application.manager);

const until = (condition: () => boolean): Promise<void> => untilOn(application.clock, condition);
const elapse = (seconds: number): Promise<void> => elapseOn(application.clock, seconds);

it('a store that is away is asked again until it answers, and the outage is logged once', async () => {
  await application.bus.dispatch(new Note('a'));
  faults.next('reserve', away, away, away);

  const ended = worker().run();
  await elapse(10);
  await ended;

  expect(ran).toEqual(['a']);
  expect(application.log.messages('error')).toEqual([expect.stringContaining('the store is away')]);
  expect(application.log.messages('info')).toContainEqual(expect.stringContaining('answers again'));
});

it('an outage that the driver has logged is not logged again', async () => {
  Object.assign(connection, { isAway: true });
  faults.next('reserve', away, away);

  const ended = worker().run();
  await elapse(10);
  await ended;

  expect(application.log.messages('error')).toEqual([]);
});

it('a store is retried with the shortest pause again in its next outage, even if the driver logs outages', async () => {
  Object.assign(connection, { isAway: true });
  faults.next('reserve', ...Array.from({ length: 6 }, () => away));
  const ended = worker({ drain: false }).run();
  await elapse(10);

  faults.next('reserve', away);
  await application.bus.dispatch(new Note('a'));
  await elapse(0.5);

  expect(ran).toEqual(['a']);
  await application.manager.close();
  await ended;
});

it('a worker with once does not spin while it waits for its store', async () => {
  const armed = jest.spyOn(application.clock, 'after');
  faults.next('reserve', ...Array.from({ length: 4 }, () => away));

  const ended = worker({ once: true, drain: false }).run();
  await elapse(5);
  await ended;

  expect(armed.mock.calls.length).toBeLessThan(100);
});

it('an outcome that could not be written is written later, and the job runs once', async () => {
  await application.bus.dispatch(new Note('a'));
  faults.next('exchange', away, away);
  faults.next('settle', away);

  const ended = worker().run();
  await elapse(20);
  await ended;

  expect(ran).toEqual(['a']);
  expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
});

it('an outcome whose reply was lost is refused the second time, and the job runs once', async () => {
  await application.bus.dispatch(new Note('a'));
  faults.next('exchange', { kind: 'lose', error: new Error('the reply was lost') });

  const ended = worker().run();
  await elapse(20);
  await ended;

  expect(ran).toEqual(['a']);
  expect(application.log.messages('warn')).toEqual([expect.stringContaining('was lost')]);
});

it('an outcome that is written twice is refused the second time, and the job runs once', async () => {
  await application.bus.dispatch(new Note('a'));
  faults.next('exchange', { kind: 'duplicate' });

  const ended = worker().run();
  await elapse(20);
  await ended;

  expect(ran).toEqual(['a']);
  expect(application.log.messages('warn')).toEqual([expect.stringContaining('was lost')]);
});

it('a lost call for the outcome of a later job affects no other job', async () => {
  for (const text of ['a', 'b', 'c']) await application.bus.dispatch(new Note(text));
  faults.nth('exchange', 2, away);

  const ended = worker().run();
  await elapse(20);
  await ended;

  expect(ran).toEqual(['a', 'b', 'c']);
  expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
});

it('a job reserved only by a lost reply comes back when its lease ends, without losing a try', async () => {
  for (const text of ['a', 'b']) await application.bus.dispatch(new Note(text));
  faults.next('reserve', { kind: 'duplicate' });
  const running = new Worker({}, application.manager);
  void running.run();

  await elapse(40);

  expect(ran).toEqual(['b', 'a']);
  expect(application.log.lines.map(({ facts }) => facts)).toContainEqual(expect.objectContaining({ attempts: 1 }));
  await running.stop();
});

it('a failed renewal is repeated before the lease ends', async () => {
  await application.bus.dispatch(new Held());
  faults.next('renew', away, away);
  const ended = worker().run();
  await until(() => ran.length === 1);

  await application.clock.advance('120s');

  expect(reasons).toEqual([]);
  gate.open();
  await application.clock.advance('10s');
  expect(await ended).toBe('empty');
});

it('a job whose lease went to another worker is aborted, and its outcome is refused', async () => {
  await application.bus.dispatch(new Held());
  const renewal = new Gate();
  faults.next('renew', { kind: 'hold', until: renewal.opened });
  const running = new Worker({}, application.manager);
  void running.run();
  await until(() => ran.length === 1);
  await application.clock.advance('31s');
  await reserveFrom(connection, { queues: ['default'], limit: 1, lease: 3600 });

  renewal.open();
  await until(() => reasons.length === 1);

  expect(reasons).toEqual([expect.any(LeaseLostError)]);
  gate.open();
  await running.stop();
  expect(await connection.queues.counts('default')).toMatchObject({ reserved: 1 });
});

it('a stop ends even if the store never answers, and logs what it left', async () => {
  await application.bus.dispatch(new Note('a'));
  const never = new Gate();
  faults.next('exchange', { kind: 'hold', until: never.opened });
  const running = new Worker({ grace: '1s' }, application.manager);
  const ended = running.run();
  await until(() => ran.length === 1);
  await application.clock.advance('1s');

  const stopped = running.stop();
  await elapse(10);

  await stopped;
  expect(await ended).toBe('stopped');
  expect(application.log.messages('error')).toEqual([
    'The worker stopped without settling 1 jobs: ' +
      '1 had ended, but their outcomes were not stored (the store has not answered). They run again when their leases end.',
  ]);
  never.open();
});

it('an outcome that the store refuses in each form is logged once, with its error', async () => {
  await application.bus.dispatch(new Note('a'));
  const refused: Fault = { kind: 'reject', error: new Error('READONLY') };
  for (const call of ['settle', 'exchange'] as const) {
    faults.next(call, ...Array.from({ length: 40 }, () => refused));
  }
  const running = new Worker({ grace: '1s' }, application.manager);
  const ended = running.run();
  await elapse(5);
  expect(application.log.messages('error')).toHaveLength(1);

  void running.stop();
  await elapse(10);
  await ended;

  expect(application.log.messages('error').at(-1)).toContain('it runs again when its lease ends. READONLY');
});
