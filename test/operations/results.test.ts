import { Job } from '../../src/job/job';
import type { QueueConnection } from '../../src/dispatch/queue-connection';
import { QueueUnavailableError, type Unavailability } from '../../src/connections/errors';
import { InvalidPayloadError } from '../../src/payload/errors';
import { Worker } from '../../src/worker/worker';
import { faultyApplication } from '../faults/faulty-connection';
import { elapse, Gate, RecordingLogger, testApplication, type TestApplication, until } from '../support/application';

let application: TestApplication;
let gate: Gate;

beforeEach(() => {
  application = testApplication();
  gate = new Gate();
});

afterEach(async () => {
  gate.open();
  await application.manager.close();
});

@Job()
class Invoice extends Job {
  constructor(
    readonly total: bigint,
    readonly at: Date,
  ) {
    super();
  }
}

@Job({ keepResult: '1h' })
class Gives extends Job {
  constructor(readonly what: 'everything' | 'a function' | 'too much' | 'nothing' | 'an error') {
    super();
  }
  async handle(): Promise<unknown> {
    await gate.opened;
    if (this.what === 'an error') throw new RangeError('no such\npage');
    if (this.what === 'a function') return { deep: [() => 1] };
    if (this.what === 'too much') return 'x'.repeat(2000);
    if (this.what === 'nothing') return undefined;
    return { invoice: new Invoice(7n, new Date(0)), sizes: new Map([['a', [1, Number.NaN]]]) };
  }
}

@Job()
class Plain extends Job {
  handle(): string {
    return 'this is not kept';
  }
}

const work = (): Promise<string> => new Worker({ stopWhenEmpty: true }, application.manager).run();

const connection = (): QueueConnection => application.manager.connection();

/** Ended, at once. */
async function ended(what: Gives['what']): Promise<string> {
  gate.open();
  const id = await application.bus.dispatch(new Gives(what));
  await work();
  return id;
}

it('gives what handle() gave, exactly as data travel', async () => {
  const id = await ended('everything');

  const result = await connection().result<{ invoice: Invoice; sizes: Map<string, number[]> }>(id);

  expect(result?.invoice).toBeInstanceOf(Invoice);
  expect(result).toEqual({
    invoice: expect.objectContaining({ total: 7n, at: new Date(0) }),
    sizes: new Map([['a', [1, Number.NaN]]]),
  });
});

it('tells find() that its job has completed, for as long as it is kept', async () => {
  const id = await ended('nothing');

  expect(await connection().find(id)).toMatchObject({
    state: 'completed',
    name: 'Gives',
    queue: 'default',
    createdAt: expect.any(Date),
    isSure: true,
  });
  expect(await connection().find(id, { queue: 'default' })).toMatchObject({ state: 'completed' });
  expect(await connection().find(id, { queue: 'elsewhere' })).toMatchObject({ state: 'unknown' });
  await application.clock.advance('1h');
  expect(await connection().find(id)).toMatchObject({ state: 'unknown' });
});

it('tells find() nothing of the connections that only keep their records in the same place', async () => {
  await application.manager.close();
  application = testApplication({
    default: 'main',
    connections: { main: { driver: 'memory' }, other: { driver: 'memory' } },
    operations: 'main',
  });
  const id = await ended('nothing');

  expect(await connection().find(id)).toMatchObject({ state: 'completed' });
  expect(await application.manager.connection('other').find(id)).toMatchObject({ state: 'unknown' });
});

it('gives it for as long as the class says', async () => {
  const id = await ended('everything');

  await application.clock.advance('61m');

  expect(await connection().result(id)).toBeUndefined();
});

it('waits for the end, and is woken by it in the process that runs the job', async () => {
  const id = await application.bus.dispatch(new Gives('everything'));
  const worker = new Worker({}, application.manager);
  const running = worker.run();
  await until(application.clock, () => worker.running.length === 1);
  const result = connection().result(id, { within: '1h' });

  // Longer and longer pauses: no look would come soon.
  await elapse(application.clock, 30);
  gate.open();
  let isThere = false;
  void result.then(() => (isThere = true));
  await until(application.clock, () => isThere);

  expect(await result).toHaveProperty('invoice');
  await worker.stop();
  await running;
});

it('waits for the end alone of a job that keeps no result', async () => {
  const id = await application.bus.dispatch(new Plain());
  const result = connection().result(id);
  await work();

  await elapse(application.clock, 1);

  expect(await result).toBeUndefined();
});

it('gives nothing before the job counts as completed, although it is written by then', async () => {
  application = faultyApplication();
  const { faults } = application as ReturnType<typeof faultyApplication>;
  const settled = new Gate();
  faults.next('settleAndReserve', { kind: 'hold', until: settled.opened });
  faults.next('settle', { kind: 'hold', until: settled.opened });
  gate.open();
  const id = await application.bus.dispatch(new Gives('everything'));
  const running = work();
  await until(application.clock, () => faults.calls.includes('settleAndReserve') || faults.calls.includes('settle'));

  expect(await application.manager.driver().records!.get('results', id)).toContain('invoice');
  await expect(connection().result(id, { within: 0 })).rejects.toMatchObject({
    code: 'E_RESULT_PENDING',
    facts: { id, state: 'running' },
  });
  settled.open();
  await running;
  expect(await connection().result(id, { within: 0 })).toHaveProperty('invoice');
});

it('throws what the job has failed with, by name and message', async () => {
  const id = await ended('an error');

  const failure = connection().result(id);

  await expect(failure).rejects.toMatchObject({
    name: 'JobFailedError',
    code: 'E_JOB_FAILED',
    facts: { job: 'Gives', id, name: 'RangeError', message: String.raw`no such\npage` },
  });
});

@Job()
class Fails extends Job {
  handle(): void {
    throw new TypeError('it is: broken');
  }
}

it('throws the failure also of a job that keeps no result', async () => {
  const id = await application.bus.dispatch(new Fails());
  await work();

  await expect(connection().result(id)).rejects.toMatchObject({
    code: 'E_JOB_FAILED',
    facts: { job: 'Fails', name: 'TypeError', message: 'it is: broken' },
  });
});

it('gives the result of a job that failed, was retried and completed', async () => {
  const id = await ended('an error');
  Gives.prototype.handle = Object.assign(async () => 'better', { original: Gives.prototype.handle });
  await application.manager.failed.retry(id);

  await expect(connection().result(id, { within: 0 })).rejects.toMatchObject({ facts: { state: 'ready' } });
  await work();

  expect(await connection().result(id)).toBe('better');
  Gives.prototype.handle = (Gives.prototype.handle as unknown as { original: typeof Gives.prototype.handle }).original;
});

it('says that a job was cancelled while it ran, and why', async () => {
  const id = await application.bus.dispatch(new Gives('everything'));
  const worker = new Worker({ grace: 0 }, application.manager);
  const running = worker.run();
  await until(application.clock, () => worker.running.length === 1);
  await connection().cancel(id, { reason: 'wrong address' });
  await elapse(application.clock, 3);

  await expect(connection().result(id)).rejects.toMatchObject({
    code: 'E_JOB_ENDED_CANCELLED',
    facts: { id, reason: 'wrong address' },
  });
  gate.open();
  await worker.stop();
  await running;
});

it('reports what cannot be kept, tells it to who asks, and lets the job complete', async () => {
  const reported: unknown[] = [];
  application.manager.onError((error) => void reported.push(error));
  const id = await ended('a function');

  await expect(connection().result(id)).rejects.toMatchObject({
    code: 'E_RESULT_NOT_KEPT',
    message: expect.stringContaining('what Gives gave.deep[0] is a function'),
  });
  expect(reported).toEqual([expect.objectContaining({ code: 'E_UNSERIALIZABLE_VALUE' })]);
  expect(await application.manager.failed.list()).toEqual([]);
});

it('keeps no more than a payload may have', async () => {
  application = testApplication({
    connections: { memory: { driver: 'memory', maxPayload: 1500 } },
    logger: new RecordingLogger(),
  });
  const id = await ended('too much');

  await expect(connection().result(id)).rejects.toMatchObject({
    code: 'E_RESULT_NOT_KEPT',
    message: expect.stringMatching(/what Gives gave .*1\.5|1500/),
  });
});

it.each(['ready', 'delayed'] as const)('says of one that has not ended in time that it is %s', async (state) => {
  const dispatch = application.bus.dispatch(new Gives('everything'));
  const id = await (state === 'delayed' ? dispatch.delay('1h') : dispatch);
  const told = connection()
    .result(id, { within: '2s' })
    .catch((error: unknown) => error);

  await elapse(application.clock, 3);

  expect(await told).toMatchObject({ code: 'E_RESULT_PENDING', facts: { state, within: 2 } });
});

it('gives nothing for an id that nobody knows, at once', async () => {
  expect(await connection().result('nobody')).toBeUndefined();
});

it.each([
  ['an id that is none', ['', {}], 'E_INVALID_JOB_ID'],
  ['a promise of one', [Promise.resolve('1'), {}], 'E_INVALID_JOB_ID'],
  ['a time without a unit', ['1', { within: '30' }], 'E_INVALID_DURATION'],
  ['two queues', ['1', { queue: 'a,b' }], 'E_INVALID_QUEUE_NAME'],
] as const)('refuses %s', async (_, [id, options], code) => {
  await expect(connection().result(id as string, options as object)).rejects.toMatchObject({ code });
});

it('refuses the dispatch of a job whose result nobody can keep', async () => {
  application = testApplication({
    connections: { elsewhere: { driver: 'beanstalkd' }, nowhere: { driver: 'null' } },
    default: 'elsewhere',
    failed: 'nowhere',
  });

  await expect(application.bus.dispatch(new Gives('everything'))).rejects.toMatchObject({ code: 'E_NO_RECORDS' });
  await expect(connection().result('1')).rejects.toMatchObject({ code: 'E_NO_RECORDS' });
});

describe('on sync', () => {
  it('is kept where a connection keeps it', async () => {
    gate.open();
    const id = await application.bus.dispatch(new Gives('everything')).onConnection('sync');

    expect(await application.manager.connection('sync').result(id)).toHaveProperty('invoice');
  });

  it('is kept nowhere else, and who asks is told so', async () => {
    application = testApplication({ connections: { now: { driver: 'sync' } }, default: 'now' });
    gate.open();
    const id = await application.bus.dispatch(new Gives('everything'));

    await expect(connection().result(id)).rejects.toMatchObject({ code: 'E_NO_RECORDS' });
  });
});

it.each([0, -1, '0s', true, 'for ever'])('refuses to keep results for %p', (keepResult) => {
  expect(() => Job({ keepResult: keepResult as never })(class Odd {})).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/^E_INVALID_(JOB_OPTION|DURATION)$/) }),
  );
});

it('says when what is kept cannot be read here', async () => {
  const id = await ended('everything');
  const text = JSON.stringify({ kind: 'completed', command: 'x', types: { '/nowhere': 'Date' } });
  await application.manager.driver().records!.put([{ kind: 'results', id, value: text }], 60);

  await expect(connection().result(id)).rejects.toThrow(InvalidPayloadError);
});

it('holds up the end of its own job alone while the store of the records is away', async () => {
  const { manager, clock, bus } = application;
  const { records } = manager.driver();
  const unavailable = new QueueUnavailableError({
    store: 'Redis',
    address: 'here',
    consequence: 'nothing was written',
  } as Unavailability);
  const put = jest.spyOn(records!, 'put').mockRejectedValue(unavailable);
  gate.open();
  const held = await bus.dispatch(new Gives('everything'));
  const other = await bus.dispatch(new Plain());
  const worker = new Worker({ concurrency: 2 }, manager);
  const running = worker.run();
  await elapse(clock, 3);

  expect(await manager.driver().find!(held)).toMatchObject({ state: 'reserved' });
  expect(await manager.driver().find!(other)).toBeUndefined();

  put.mockRestore();
  await elapse(clock, 60);
  expect(await connection().result(held)).toHaveProperty('invoice');
  await worker.stop();
  await running;
});

it('goes on waiting while the store is away, and says so in the end', async () => {
  const { manager, clock } = application;
  const id = await ended('everything');
  const unavailable = new QueueUnavailableError({
    store: 'Redis',
    address: 'here',
    consequence: 'nothing was written',
  } as Unavailability);
  const get = jest.spyOn(manager.driver().records!, 'get').mockRejectedValue(unavailable);
  const result = connection().result(id, { within: '10s' });
  const refused = connection()
    .result(id, { within: '2s' })
    .catch((error: unknown) => error);

  await elapse(clock, 3);
  get.mockRestore();
  await elapse(clock, 2);

  expect(await refused).toBe(unavailable);
  expect(await result).toHaveProperty('invoice');
});
