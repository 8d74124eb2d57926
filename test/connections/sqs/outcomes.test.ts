import type { SqsConnection } from '../../../src/connections/sqs/connection';
import { afterFailedAttempt, afterFreeRelease } from '../../../src/payload/counters';
import type { Reservation, Settlement } from '../../../src/connections/contract';
import type { SqsQueueModel } from '../../support/sqs-model';
import { probe, SqsWorld } from './open-sqs';
import { reserveFrom, settleIn } from '../../support/exchange';

const world = new SqsWorld().forTests();
let queue: SqsQueueModel;
let connection: SqsConnection;

beforeEach(() => {
  queue = world.createQueue('default');
  connection = world.connect();
});

const completed = (reservation: Reservation): Settlement => ({ outcome: 'completed', reservation });
const released = (reservation: Reservation, delay = 0): Settlement => ({
  outcome: 'released',
  reservation,
  delay,
  counters: afterFailedAttempt(reservation.counters),
});

async function reserve(count: number, lease = 60): Promise<Reservation[]> {
  const reply = await reserveFrom(connection, { queues: ['default'], limit: count, lease });
  return [...reply.reservations];
}

async function take(count = 1, lease = 60): Promise<Reservation[]> {
  const entries = Array.from({ length: count }, (_, index) => ({ payload: probe(`${index}`) }));
  await connection.push('default', entries);
  return reserve(count, lease);
}

describe('an outcome that SQS refuses', () => {
  it.each([
    ['completed', completed],
    ['released', released],
  ])('of a job that was %s is written once when it is settled again', async (_, outcome) => {
    const [job] = await take();
    const action = outcome === completed ? 'DeleteMessageBatch' : 'SendMessageBatch';
    world.server.fail({ action, kind: 'refuse', code: 'KmsDisabled', status: 400 });

    await expect(settleIn(connection, [outcome(job!)])).rejects.toMatchObject({ code: 'E_SQS_REPLY' });
    expect(await settleIn(connection, [outcome(job!)])).toEqual(['settled']);
    expect(await settleIn(connection, [outcome(job!)])).toEqual(['lost']);

    expect(queue.bodies).toHaveLength(outcome === completed ? 0 : 1);
  });

  it('of a release whose message was already sent again is not sent a third time', async () => {
    const [job] = await take();
    world.server.fail({ action: 'DeleteMessageBatch', kind: 'refuse', code: 'KmsDisabled', status: 400 });

    await expect(settleIn(connection, [released(job!)])).rejects.toThrow('KmsDisabled');
    expect(queue.bodies).toHaveLength(2);
    expect(await settleIn(connection, [released(job!)])).toEqual(['settled']);

    expect(queue.bodies).toEqual([probe('0').replace('"attempts":0', '"exceptions":1,"attempts":1')]);
  });

  it('does not hide the outcomes that were accepted with it', async () => {
    const [a, b, c] = await take(3);
    world.server.failEntries({ action: 'DeleteMessageBatch', places: [1], code: 'KmsDisabled', senderFault: true });

    const settlements = [completed(a!), completed(b!), completed(c!)];
    await expect(settleIn(connection, settlements)).rejects.toThrow('KmsDisabled');
    expect(queue.bodies).toEqual([probe('1')]);

    expect(await settleIn(connection, settlements)).toEqual(['settled', 'settled', 'settled']);
    expect(await settleIn(connection, settlements)).toEqual(['lost', 'lost', 'lost']);
    expect(queue.bodies).toEqual([]);
  });

  it('is repeated automatically if only part of a batch failed, for that part only', async () => {
    const jobs = await take(3);
    const fault = { places: [0], code: 'InternalError', senderFault: false };
    world.server.failEntries({ action: 'DeleteMessageBatch', ...fault });

    expect(await settleIn(connection, jobs.map(completed))).toEqual(['settled', 'settled', 'settled']);

    const deletes = world.server.asked.filter(({ action }) => action === 'DeleteMessageBatch');
    expect(deletes.map(({ input }) => (input['Entries'] as object[]).length)).toEqual([3, 1]);
  });
});

describe('a lease', () => {
  it('that has ended is lost, even if SQS does not say so', async () => {
    const [a, b] = await take(2);
    world.advance(61);

    expect(await connection.renew([a!], 60)).toEqual(['lost']);
    expect(await settleIn(connection, [completed(a!), released(b!)])).toEqual(['lost', 'lost']);
    expect(queue.bodies).toHaveLength(2);
  });

  it('that another client renewed is renewed for every holder of the job', async () => {
    const [job] = await take();
    world.advance(50);
    // As the reservation reaches another thread.
    const clone = structuredClone(job!);
    expect(await world.connect().renew([clone], 60)).toEqual(['renewed']);
    world.advance(50);

    expect(await settleIn(connection, [completed(job!)])).toEqual(['settled']);
    expect(await settleIn(world.connect(), [completed(clone)])).toEqual(['lost']);
  });

  it('lasts for twelve hours at most, and is lost then', async () => {
    const [job] = await take(1, 3600);
    for (let hour = 1; hour <= 23; hour += 1) {
      world.advance(1800);
      expect(await connection.renew([job!], 3600)).toEqual(['renewed']);
    }
    world.advance(1795);
    expect(await reserve(1)).toEqual([]);
    world.advance(5);

    expect(await connection.renew([job!], 3600)).toEqual(['lost']);
    expect((await reserve(1))[0]!.counters).toMatchObject({ attempts: 1, crashes: 1 });
  });

  it('that is to last longer lasts for those twelve hours', async () => {
    const [job] = await take(1, 100_000);
    world.advance(40_000);
    expect(await connection.renew([job!], 100_000)).toEqual(['renewed']);

    world.advance(3190);
    expect(await settleIn(connection, [completed(job!)])).toEqual(['settled']);
  });

  it('of a deleted job is lost', async () => {
    const [job] = await take();
    queue.purge();

    expect(await connection.renew([job!], 60)).toEqual(['lost']);
  });
});

describe('the counters', () => {
  it('of a job given back without costing a try are exact, because its message is a new one', async () => {
    const [first] = await take();
    world.advance(61);
    const [second] = await reserve(1);
    const { counters } = second!;
    expect(counters).toMatchObject({ attempts: 1, crashes: 1, releases: 0 });
    await settleIn(connection, [
      { outcome: 'released', reservation: second!, delay: 0, counters: afterFreeRelease(counters) },
    ]);

    const [third] = await reserve(1);

    expect(third!.counters).toMatchObject({ attempts: 1, crashes: 1, releases: 1 });
    expect(third!.payload.equals(first!.payload)).toBe(false);
  });

  it('distinguish a duplicate delivery of SQS from the first', async () => {
    queue.duplicates = 1;
    const [first] = await take();
    const [second] = await reserve(1);

    expect([first, second].map((job) => job!.counters)).toMatchObject([{ crashes: 0 }, { crashes: 1 }]);
    expect(await settleIn(connection, [completed(first!)])).toEqual(['settled']);
    expect(await settleIn(connection, [completed(second!)])).toEqual(['settled']);
    expect(queue.bodies).toEqual([]);
  });
});

describe('on a FIFO queue', () => {
  beforeEach(() => {
    queue = world.createQueue('orders.fifo');
  });

  const reserveFifo = async (): Promise<Reservation> =>
    (await reserveFrom(connection, { queues: ['orders.fifo'], limit: 1, lease: 60 })).reservations[0]!;

  it('each delivery costs a try, however the previous one ended', async () => {
    await connection.push('orders.fifo', [{ payload: probe('a') }, { payload: probe('b') }]);
    const first = await reserveFifo();
    await settleIn(connection, [released(first)]);
    const second = await reserveFifo();
    world.advance(61);
    const third = await reserveFifo();

    expect([first, second, third].map(({ counters }) => counters.attempts)).toEqual([1, 2, 3]);
    expect(third.counters).toMatchObject({ crashes: 0, exceptions: 0 });
    expect(world.server.count('SendMessageBatch')).toBe(1);
  });

  it('a release is delayed no longer than SQS can hide a message', async () => {
    await connection.push('orders.fifo', [{ payload: probe('a') }]);
    await settleIn(connection, [released(await reserveFifo(), 86_400)]);
    world.advance(43_190);
    expect(await reserveFifo()).toBeUndefined();
    world.advance(15);

    expect(await reserveFifo()).toMatchObject({ counters: { attempts: 2 } });
  });

  it('a release whose answer got lost is reported as settled, although its receipt has become invalid', async () => {
    await connection.push('orders.fifo', [{ payload: probe('a') }]);
    const job = await reserveFifo();
    world.server.fail({ action: 'ChangeMessageVisibilityBatch', kind: 'lose' });

    expect(await settleIn(connection, [released(job)])).toEqual(['settled']);
    expect(world.server.count('ChangeMessageVisibilityBatch')).toBe(2);
    expect(await reserveFifo()).toMatchObject({ counters: { attempts: 2 } });
  });

  it('a job whose receipt has become invalid is lost', async () => {
    await connection.push('orders.fifo', [{ payload: probe('a') }]);
    const job = await reserveFifo();
    world.server.advance(61);

    expect(await settleIn(connection, [completed(job)])).toEqual(['lost']);
  });

  it('a job whose receipt has become invalid is lost even after a throttled request', async () => {
    await connection.push('orders.fifo', [{ payload: probe('a') }]);
    const job = await reserveFifo();
    world.server.advance(61);
    const action = 'ChangeMessageVisibilityBatch';
    world.server.fail({ action, kind: 'refuse', code: 'RequestThrottled', status: 400 });

    expect(await settleIn(connection, [released(job)])).toEqual(['lost']);
    expect(world.server.count(action)).toBe(2);
  });
});
