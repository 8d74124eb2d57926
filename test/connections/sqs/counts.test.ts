import type { SqsConnection } from '../../../src/connections/sqs/connection';
import type { SqsQueueModel } from '../../support/sqs-model';
import { probe, SqsWorld } from './open-sqs';
import { reserveFrom, settleIn } from '../../support/exchange';

const NOTHING = { ready: 0, delayed: 0, reserved: 0 };

const world = new SqsWorld().forTests();
let queue: SqsQueueModel;
let connection: SqsConnection;

beforeEach(() => {
  queue = world.createQueue('default');
  world.createQueue('orders.fifo', { FifoQueue: 'true' });
  connection = world.connect();
});

const pushLater = (delay: number): Promise<void> => connection.push('default', [{ payload: probe('late'), delay }]);

it('counts are the estimates of SQS', async () => {
  await connection.push('default', [{ payload: probe('a') }, { payload: probe('b') }]);
  await reserveFrom(connection, { queues: ['default'], limit: 1, lease: 30 });
  await world.connect().push('default', [{ payload: probe('c'), delay: 60 }]);

  expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 1, reserved: 1 });
});

describe('a job that this process has just delayed', () => {
  it('is counted until it is due, even if SQS does not count it yet', async () => {
    queue.estimate = NOTHING;
    await pushLater(60);

    expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 1, reserved: 0 });
    world.advance(61);
    expect(await connection.queues.counts('default')).toEqual(NOTHING);
  });

  it('is left to the estimates of SQS after some minutes, because another process may have removed it', async () => {
    queue.estimate = NOTHING;
    await pushLater(600);
    world.advance(121);

    expect(await connection.queues.counts('default')).toEqual(NOTHING);
  });

  it('is counted on a FIFO queue too, where a job given back counts as reserved', async () => {
    await connection.push('orders.fifo', [{ payload: probe('a') }]);
    const { reservations } = await reserveFrom(connection, { queues: ['orders.fifo'], limit: 1, lease: 30 });
    const [reservation] = reservations;

    await settleIn(connection, [
      { outcome: 'released', reservation: reservation!, delay: 60, counters: reservation!.counters },
    ]);

    expect(await connection.queues.counts('orders.fifo')).toMatchObject({ ready: 0, delayed: 1 });
  });

  it('is not counted after the queue was cleared', async () => {
    await pushLater(60);

    await connection.queues.clear!('default');

    expect(await connection.queues.counts('default')).toEqual(NOTHING);
  });
});
