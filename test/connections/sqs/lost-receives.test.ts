import type { Reservation } from '../../../src/connections/contract';
import type { SqsConnection } from '../../../src/connections/sqs/connection';
import { eventually } from '../../support/eventually';
import type { SqsQueueModel } from '../../support/sqs-model';
import { probe, SqsWorld } from './open-sqs';
import { reserveFrom, settleIn } from '../../support/exchange';

const world = new SqsWorld().forTests();
let queue: SqsQueueModel;
let connection: SqsConnection;

beforeEach(async () => {
  queue = world.createQueue('orders.fifo');
  connection = world.connect({ group: ({ id }) => String(id) });
  await push('a', 'b', 'c');
});

const push = (...ids: readonly string[]): Promise<void> =>
  connection.push(
    'orders.fifo',
    ids.map((id) => ({ payload: probe(id) })),
  );

const attempts = (): readonly unknown[] =>
  world.server.asked.map(({ input }) => input['ReceiveRequestAttemptId']).filter((id) => id !== undefined);

async function reserve(limit: number, lease = 600): Promise<readonly Reservation[]> {
  return (await reserveFrom(connection, { queues: ['orders.fifo'], limit, lease })).reservations;
}

/** A reserve of which all receives get lost until its deadline. */
async function loseReserve(): Promise<void> {
  world.server.fail({ action: 'ReceiveMessage', kind: 'lose', calls: 99_999 });
  const lost = reserve(1);
  await eventually(() => world.server.count('ReceiveMessage') > 0);
  await expect(world.clock.passing(lost)).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
  world.server.mend();
}

const idOf = ({ payload }: Reservation): unknown => (JSON.parse(payload.toString()) as { id: string }).id;

it('jobs of a FIFO queue whose receive got lost are received again, still in their first try', async () => {
  world.server.fail({ action: 'ReceiveMessage', kind: 'lose', calls: 2 });

  const jobs = await reserve(3);

  expect(jobs.map(idOf)).toEqual(['a', 'b', 'c']);
  expect(jobs.map(({ counters }) => counters.attempts)).toEqual([1, 1, 1]);
  expect(
    await settleIn(
      connection,
      jobs.map((reservation) => ({ outcome: 'completed', reservation })),
    ),
  ).toEqual(jobs.map(() => 'settled'));
  expect(queue.bodies).toEqual([]);
});

it('each answered receive is followed by one with a new attempt id', async () => {
  await reserve(3);

  expect(new Set(attempts()).size).toBe(3);
});

it('jobs whose receives got lost until a reserve was given up go to the next reserve', async () => {
  await loseReserve();

  const jobs = await reserve(3);

  expect(jobs.map(idOf)).toEqual(['a', 'b', 'c']);
  expect(jobs.map(({ counters }) => counters.attempts)).toEqual([1, 1, 1]);
});

it('a reserve with another lease does not repeat a lost receive', async () => {
  await loseReserve();

  expect((await reserve(3, 1200)).map(idOf)).toEqual(['b', 'c']);
  expect((await reserve(1)).map(idOf)).toEqual(['a']);
});

it('a lost receive of jobs that have changed since does not hold up other jobs', async () => {
  await loseReserve();
  queue.purge();
  await push('d');

  expect((await reserve(3)).map(idOf)).toEqual(['d']);
});

it('a job whose lease ended after a lost receive is handed out again, and that costs a try', async () => {
  await loseReserve();
  world.advance(601);

  const [job] = await reserve(1);

  expect([idOf(job!), job!.counters.attempts]).toEqual(['a', 2]);
});

it('a job of a standard queue whose receive got lost comes back when its lease ends, counted as a crash', async () => {
  world.createQueue('default');
  await connection.push('default', [{ payload: probe('a') }]);
  world.server.fail({ action: 'ReceiveMessage', kind: 'lose' });
  const request = { queues: ['default'], limit: 1, lease: 30 };

  expect((await reserveFrom(connection, request)).reservations).toEqual([]);
  world.advance(31);

  expect((await reserveFrom(connection, request)).reservations).toMatchObject([
    { counters: { attempts: 1, crashes: 1 } },
  ]);
});
