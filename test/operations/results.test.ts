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

/** Runs the job to its end at once. */
async function ended(what: Gives['what']): Promise<string> {
  gate.open();
  const id = await application.bus.dispatch(new Gives(what));
  await work();
  return id;
}

it('a result is the return value of handle(), restored like job data', async () => {
  const id = await ended('everything');

  const result = await connection().result<{ invoice: Invoice; sizes: Map<string, number[]> }>(id);

  expect(result?.invoice).toBeInstanceOf(Invoice);
  expect(result).toEqual({
    invoice: expect.objectContaining({ total: 7n, at: new Date(0) }),
    sizes: new Map([['a', [1, Number.NaN]]]),
  });
});

it('find() shows a job as completed for as long as its result is kept', async () => {
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

it('find() shows a kept result only on the connection of the job', async () => {
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

it('a result is kept for as long as its class says', async () => {
  const id = await ended('everything');

  await application.clock.advance('61m');

  expect(await connection().result(id)).toBeUndefined();
});

it('result() waits for the end of a job, and is woken by it in the same process', async () => {
  const id = await application.bus.dispatch(new Gives('everything'));
  const worker = new Worker({}, application.manager);
  const running = worker.run();
  await until(application.clock, () => worker.running.length === 1);
  const result = connection().result(id, { within: '1h' });

  // The pauses between looks grow, so the next look would not come soon.
  await elapse(application.clock, 30);
  gate.open();
  let isThere = false;
  void result.then(() => (isThere = true));
  await until(application.clock, () => isThere);

  expect(await result).toHaveProperty('invoice');
  await worker.stop();
  await running;
});

it('result() waits for the end of a job even if it keeps no result', async () => {
  const id = await application.bus.dispatch(new Plain());
  const result = connection().result(id);
  await work();

  await elapse(application.clock, 1);

  expect(await result).toBeUndefined();
});

it('a result is not given before the job is settled, although it is stored by then', async () => {
  application = faultyApplication();
  const { faults } = application as ReturnType<typeof faultyApplication>;
  const settled = new Gate();
  faults.next('exchange', { kind: 'hold', until: settled.opened });
  faults.next('settle', { kind: 'hold', until: settled.opened });
  gate.open();
  const id = await application.bus.dispatch(new Gives('everything'));
  const running = work();
  await until(application.clock, () => faults.calls.includes('exchange') || faults.calls.includes('settle'));

  expect(await application.manager.driver().records!.get('results', id)).toContain('invoice');
  await expect(connection().result(id, { within: 0 })).rejects.toMatchObject({
    code: 'E_RESULT_PENDING',
    facts: { id, state: 'running' },
  });
  settled.open();
  await running;
  expect(await connection().result(id, { within: 0 })).toHaveProperty('invoice');
});

it("result() throws the name and message of a job's error", async () => {
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

it('result() also throws for a failed job that keeps no result', async () => {
  const id = await application.bus.dispatch(new Fails());
  await work();

  await expect(connection().result(id)).rejects.toMatchObject({
    code: 'E_JOB_FAILED',
    facts: { job: 'Fails', name: 'TypeError', message: 'it is: broken' },
  });
});

it('result() gives the result of a job that failed, was retried and completed', async () => {
  const id = await ended('an error');
  Gives.prototype.handle = Object.assign(async () => 'better', { original: Gives.prototype.handle });
  await application.manager.failed.retry(id);

  await expect(connection().result(id, { within: 0 })).rejects.toMatchObject({ facts: { state: 'ready' } });
  await work();

  expect(await connection().result(id)).toBe('better');
  Gives.prototype.handle = (Gives.prototype.handle as unknown as { original: typeof Gives.prototype.handle }).original;
});

it('result() throws that a job was cancelled while it ran, and why', async () => {
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

it('a result that cannot be kept is reported, result() throws it, and the job still completes', async () => {
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

it('a result may not be larger than a payload', async () => {
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

it.each(['ready', 'delayed'] as const)(
  'result() rejects with the state %s if the job has not ended in time',
  async (state) => {
    const dispatch = application.bus.dispatch(new Gives('everything'));
    const id = await (state === 'delayed' ? dispatch.delay('1h') : dispatch);
    const told = connection()
      .result(id, { within: '2s' })
      .catch((error: unknown) => error);

    await elapse(application.clock, 3);

    expect(await told).toMatchObject({ code: 'E_RESULT_PENDING', facts: { state, within: 2 } });
  },
);

it('result() gives undefined at once for an unknown id', async () => {
  expect(await connection().result('nobody')).toBeUndefined();
});

it.each([
  ['an empty id', ['', {}], 'E_INVALID_JOB_ID'],
  ['a promise of an id', [Promise.resolve('1'), {}], 'E_INVALID_JOB_ID'],
  ['a time without a unit', ['1', { within: '30' }], 'E_INVALID_DURATION'],
  ['two queues', ['1', { queue: 'a,b' }], 'E_INVALID_QUEUE_NAME'],
] as const)('result() refuses %s', async (_, [id, options], code) => {
  await expect(connection().result(id as string, options as object)).rejects.toMatchObject({ code });
});

it('the dispatch of a job is refused if its result cannot be kept', async () => {
  application = testApplication({
    connections: { elsewhere: { driver: 'beanstalkd' }, nowhere: { driver: 'null' } },
    default: 'elsewhere',
    failed: 'nowhere',
  });

  await expect(application.bus.dispatch(new Gives('everything'))).rejects.toMatchObject({ code: 'E_NO_RECORDS' });
  await expect(connection().result('1')).rejects.toMatchObject({ code: 'E_NO_RECORDS' });
});

describe('the result of a job on sync', () => {
  it('is kept if a connection keeps records', async () => {
    gate.open();
    const id = await application.bus.dispatch(new Gives('everything')).onConnection('sync');

    expect(await application.manager.connection('sync').result(id)).toHaveProperty('invoice');
  });

  it('is not kept otherwise, and result() throws', async () => {
    application = testApplication({ connections: { now: { driver: 'sync' } }, default: 'now' });
    gate.open();
    const id = await application.bus.dispatch(new Gives('everything'));

    await expect(connection().result(id)).rejects.toMatchObject({ code: 'E_NO_RECORDS' });
  });
});

it.each([0, -1, '0s', true, 'for ever'])('a job cannot keep results for %p', (keepResult) => {
  expect(() => Job({ keepResult: keepResult as never })(class Odd {})).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/^E_INVALID_(JOB_OPTION|DURATION)$/) }),
  );
});

it('result() throws if the kept result cannot be read here', async () => {
  const id = await ended('everything');
  const text = JSON.stringify({ kind: 'completed', command: 'x', types: { '/nowhere': 'Date' } });
  await application.manager.driver().records!.put([{ kind: 'results', id, value: text }], 60);

  await expect(connection().result(id)).rejects.toThrow(InvalidPayloadError);
});

it('only the job with a result is delayed while the store of the records is away', async () => {
  const { manager, clock, bus } = application;
  const { records } = manager.driver();
  const unavailable = new QueueUnavailableError({
    store: 'Redis',
    address: 'here',
    consequence: 'nothing was written',
  } as Unavailability);
  const put = jest.spyOn(records!.wake!, 'put').mockRejectedValue(unavailable);
  gate.open();
  const held = await bus.dispatch(new Gives('everything'));
  const other = await bus.dispatch(new Plain());
  const worker = new Worker({ concurrency: 2 }, manager);
  const running = worker.run();
  await elapse(clock, 3);

  expect(await manager.driver().queues.find!(held)).toMatchObject({ state: 'reserved' });
  expect(await manager.driver().queues.find!(other)).toBeUndefined();

  put.mockRestore();
  await elapse(clock, 60);
  expect(await connection().result(held)).toHaveProperty('invoice');
  await worker.stop();
  await running;
});

it('result() goes on waiting while the store is away, and throws its error in the end', async () => {
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
