import type { SqsConnection } from '../../../src/connections/sqs/connection';
import type { Reservation } from '../../../src/connections/contract';
import type { SqsQueueModel } from '../../support/sqs-model';
import { TestClock } from '../../../src/testing/test-clock';
import { eventually } from '../../support/eventually';
import { probe, SqsWorld } from './open-sqs';
import { reserveFrom, waitOn } from '../../support/exchange';

const never = new AbortController().signal;

const world = new SqsWorld().forTests();
let queue: SqsQueueModel;
let connection: SqsConnection;

beforeEach(() => {
  queue = world.createQueue('default');
  world.createQueue('low');
  world.createQueue('orders.fifo');
  connection = world.connect();
});

const push = (id: string, name = 'default'): Promise<void> => world.connect().push(name, [{ payload: probe(id) }]);
const receives = (): number => world.server.count('ReceiveMessage');
const polling = (count: number): Promise<unknown> => eventually(() => receives() === count, { of: 'the long poll' });

async function reserve(limit = 10, queues = ['default'], lease = 30): Promise<readonly Reservation[]> {
  return (await reserveFrom(connection, { queues, limit, lease })).reservations;
}

it('an idle worker asks once every twenty seconds, however often it looks', async () => {
  for (let turn = 0; turn < 5; turn += 1) {
    expect(await reserve()).toEqual([]);
    await waitOn(connection, ['default'], 0.02, never);
  }

  expect(world.server.asked.map(({ input }) => input['WaitTimeSeconds'])).toEqual([0, 20]);
});

it('a job from a long poll is handed out without another request', async () => {
  const wait = waitOn(connection, ['default'], 3600, never);
  await polling(1);
  await push('a');
  await wait;

  expect(await reserve(1)).toMatchObject([{ counters: { attempts: 1, crashes: 0 } }]);
  expect(receives()).toBe(1);
});

it('a job from a long poll gets the requested lease', async () => {
  const wait = waitOn(connection, ['default'], 3600, never);
  await push('a');
  await wait;

  const [job] = await reserve(1, ['default'], 600);
  world.advance(500);

  expect(await connection.renew([job!], 60)).toEqual(['renewed']);
});

it('a job from a long poll that nobody waits for any more goes to the next wait or reserve', async () => {
  const abort = new AbortController();
  const wait = waitOn(connection, ['default'], 3600, abort.signal);
  await polling(1);
  abort.abort();
  await wait;
  await push('a');
  await eventually(() => queue.counts.reserved === 1);

  await waitOn(connection, ['default'], 3600, never);

  expect(await reserve()).toHaveLength(1);
});

it('a job from a long poll that nobody takes goes back, costing neither a try nor a crash', async () => {
  connection = world.connect({}, { retryAfter: 36_000 });
  const abort = new AbortController();
  const wait = waitOn(connection, ['default'], 3600, abort.signal);
  await polling(1);
  abort.abort();
  await wait;
  await push('a');

  await eventually(
    () => {
      world.clock.advance(1);
      return queue.bodies[0]?.includes('"releases":1') === true;
    },
    { of: 'the job that went back' },
  );

  expect(await reserve()).toMatchObject([{ counters: { attempts: 1, crashes: 0, releases: 1 } }]);
});

it('the close of a connection ends a long poll at once', async () => {
  void waitOn(connection, ['default'], 3600, never);
  await polling(1);

  await connection.close();

  await eventually(() => world.server.waiting === 0, { of: 'the end of the poll' });
});

it('a long poll that nobody has waited for in a while ends', async () => {
  const clock = new TestClock();
  connection = world.connect({}, { clock });
  const abort = new AbortController();
  const wait = waitOn(connection, ['default'], 3600, abort.signal);
  await polling(1);
  abort.abort();
  await wait;

  await clock.advance('5s');

  await eventually(() => world.server.waiting === 0, { of: 'the end of the poll' });
});

it('a closed connection gives back the jobs of its long polls', async () => {
  const wait = waitOn(connection, ['default'], 3600, never);
  await push('a');
  await wait;
  expect(queue.counts.reserved).toBe(1);

  await connection.close();

  expect(queue.counts).toEqual({ ready: 1, delayed: 0, reserved: 0 });
});

it('a worker on several queues is woken by any of them', async () => {
  const wait = waitOn(connection, ['default', 'low'], 3600, never);
  await polling(2);
  await push('a', 'low');
  await wait;

  expect(await reserve(1, ['default', 'low'])).toMatchObject([{ queue: 'low' }]);
});

it('a worker on many queues keeps connections for what it has to send', async () => {
  const names = Array.from({ length: 60 }, (_, index) => `queue${index}`);
  for (const name of names) world.createQueue(name);
  void waitOn(connection, names, 3600, never);

  await polling(60);
  await connection.push('default', [{ payload: probe('a') }]);

  expect(world.server.waiting).toBe(60);
});

it('a failed long poll ends the wait with its error, and the next reserve asks again', async () => {
  world.server.fail({ action: 'ReceiveMessage', kind: 'refuse', code: 'OverLimit', status: 403 });

  await expect(waitOn(connection, ['default'], 3600, never)).rejects.toMatchObject({
    code: 'E_SQS_REPLY',
    facts: { reply: 'OverLimit' },
  });
  await push('a');

  expect(await reserve()).toHaveLength(1);
});

it('a job from a long poll gets the requested lease even if that is shorter', async () => {
  const wait = waitOn(connection, ['default'], 3600, never);
  await push('a');
  await wait;

  await reserve(1, ['default'], 5);
  world.advance(6);

  expect(await reserve(1)).toMatchObject([{ counters: { crashes: 1 } }]);
});

it('a FIFO queue is not polled, because a job received but not run would lose a try', async () => {
  await push('a', 'orders.fifo');
  await waitOn(connection, ['orders.fifo'], 0.5, never);

  expect(await reserve(1, ['orders.fifo'])).toHaveLength(1);
  expect(world.server.asked.map(({ input }) => input['WaitTimeSeconds'] ?? 0)).toEqual([0, 0]);
});
