import type { SqsConnection } from '../../../src/connections/sqs/connection';
import type { Reservation } from '../../../src/connections/contract';
import type { SqsQueueModel } from '../../support/sqs-model';
import { SqsWorld } from './open-sqs';
import { reserveFrom, settleIn, waitOn } from '../../support/exchange';

const HOUR = 3600;
const probe = '{"job":"probe","id":"a","attempts":0}';

const world = new SqsWorld().forTests();
let queue: SqsQueueModel;
let connection: SqsConnection;

beforeEach(() => {
  queue = world.createQueue('default');
  connection = world.connect();
});

const later = (delay: number): Promise<void> => connection.push('default', [{ payload: probe, delay }]);

async function reserve(): Promise<Reservation | undefined> {
  return (await reserveFrom(connection, { queues: ['default'], limit: 1, lease: 60 })).reservations[0];
}

/** Polls like an idle worker, and returns the jobs with the seconds after which they came. */
async function firstWithin(seconds: number, step: number): Promise<{ job: Reservation; after: number } | undefined> {
  for (let after = 0; after <= seconds; after += step) {
    const job = await reserve();
    if (job !== undefined) return { job, after };
    world.advance(step);
  }
  return undefined;
}

it('a delay of up to a quarter of an hour takes one message, which SQS holds back', async () => {
  await later(900);
  world.advance(899);
  expect(await reserve()).toBeUndefined();
  world.advance(1);
  expect(await reserve()).toBeDefined();
  expect(world.server.count('SendMessageBatch')).toBe(1);
});

it('a delay with a fraction of a second is not cut short', async () => {
  await later(1.2);
  world.advance(1.5);
  expect(await reserve()).toBeUndefined();
  world.advance(0.5);
  expect(await reserve()).toBeDefined();
});

it.each([901, 2000, 2.5 * HOUR, 20 * HOUR])(
  'a delay of %d s ends on time, and the job comes as a first delivery',
  async (delay) => {
    await later(delay);

    const step = Math.max(100, delay / 90);
    const found = await firstWithin(delay + 2 * step, step);

    expect(found!.after).toBeGreaterThanOrEqual(delay);
    expect(found!.after).toBeLessThanOrEqual(delay + 2 * step);
    expect(found!.job.counters).toMatchObject({ attempts: 1, crashes: 0 });
    expect(JSON.parse(found!.job.payload.toString())).not.toHaveProperty('crashes');
    expect(queue.bodies).toHaveLength(1);
  },
);

it('a release can have a longer delay than SQS holds a message back', async () => {
  await later(0);
  const first = await reserve();
  await settleIn(connection, [{ outcome: 'released', reservation: first!, delay: 3000, counters: first!.counters }]);

  const found = await firstWithin(4000, 250);

  expect(found!.after).toBeGreaterThanOrEqual(3000);
  expect(found!.job.counters).toMatchObject({ attempts: 2, crashes: 0 });
});

it('jobs that SQS can hold back no longer are sent on ten at a time, whether a wait or a reserve gets the first', async () => {
  await connection.push(
    'default',
    Array.from({ length: 21 }, () => ({ payload: probe, delay: HOUR })),
  );
  world.advance(901);

  await waitOn(connection, ['default']);
  expect((await reserveFrom(connection, { queues: ['default'], limit: 10, lease: 60 })).reservations).toEqual([]);

  expect(queue.counts).toEqual({ ready: 0, delayed: 21, reserved: 0 });
  expect(world.server.count('ReceiveMessage')).toBe(4);
});

it('a delayed job outlives the retention time of its queue', async () => {
  queue = world.createQueue('default', { MessageRetentionPeriod: '3600' });
  await later(3 * HOUR);

  expect((await firstWithin(3 * HOUR + 600, 300))!.job.counters.attempts).toBe(1);
});

it('a delayed job that could not be sent again comes back by itself and keeps its due time', async () => {
  await later(2000);
  world.advance(900);
  world.server.fail({ action: 'SendMessageBatch', kind: 'refuse', code: 'KmsDisabled', status: 400 });
  expect(await reserve()).toBeUndefined();
  expect(queue.bodies).toEqual([probe]);

  const found = await firstWithin(2000, 100);

  expect(found!.after).toBeGreaterThanOrEqual(1100);
  expect(found!.job.counters).toMatchObject({ attempts: 1, crashes: 0 });
});

it('a delayed job whose old message could not be deleted exists twice, and is never lost or early', async () => {
  await later(2000);
  world.advance(900);
  world.server.fail({ action: 'DeleteMessageBatch', kind: 'refuse', code: 'InternalError', status: 400 });
  expect(await reserve()).toBeUndefined();
  expect(queue.bodies).toEqual([probe, probe]);

  expect((await firstWithin(2000, 100))!.after).toBeGreaterThanOrEqual(1100);
});
