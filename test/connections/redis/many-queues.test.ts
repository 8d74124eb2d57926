/** A worker of many queues: most of its calls look at a few of them. */
import type { ReserveReply } from '../../../src/connections/contract';
import type { RedisConnection } from '../../../src/connections/redis/connection';
import { TestClock } from '../../../src/testing/test-clock';
import { reserveFrom } from '../../support/exchange';
import { RedisWorld } from './open-redis';

const queues = Array.from({ length: 30 }, (_, at) => `q${at}`);

let world: RedisWorld;
let clock: TestClock;
let connection: RedisConnection;

beforeAll(async () => {
  world = await RedisWorld.start();
});

beforeEach(async () => {
  world.fresh();
  clock = new TestClock();
  connection = world.connect({}, { clock });
  for (const id of ['a', 'b', 'c', 'd']) await push('q10', id);
});

afterEach(() => world.closeConnections());

afterAll(() => world.stop());

const push = (queue: string, id: string): Promise<unknown> =>
  connection.push(queue, [{ payload: `{"job":"probe","data":{},"id":"${id}","attempts":0}` }]);

const ask = (limit = 1): Promise<ReserveReply> => reserveFrom(connection, { queues, limit, lease: 600 });

const idsOf = ({ reservations }: ReserveReply): unknown[] =>
  reservations.map((one) => (JSON.parse(one.payload.toString()) as { readonly id: string }).id);

it('takes from a queue that gives jobs, without a look at those that were empty a moment ago', async () => {
  expect(idsOf(await ask())).toEqual(['a']);
  await push('q0', 'urgent');
  const reply = await ask();

  expect(idsOf(reply)).toEqual(['b']);
  expect(reply.nextIn).toBe(0);
});

it('looks at all queues in their order 20 ms after it last did, or a higher one would starve', async () => {
  await ask();
  await push('q0', 'urgent');
  await clock.advance('20ms');

  expect(idsOf(await ask())).toEqual(['urgent']);
});

it('looks at all queues once a call has brought less than was wanted, and says that there may be more', async () => {
  await ask();
  await push('q0', 'urgent');
  const reply = await ask(5);
  expect([idsOf(reply), reply.nextIn]).toEqual([['b', 'c', 'd'], 0]);

  expect(idsOf(await ask(5))).toEqual(['urgent']);
});

it('reports paused queues whether it looked at them or not', async () => {
  await connection.control.pause('q3');
  await connection.control.pause('q12');
  expect((await ask()).paused).toEqual(['q3', 'q12']);

  expect((await ask()).paused?.toSorted()).toEqual(['q12', 'q3']);
});

it('looks at all queues when a wait has ended', async () => {
  await ask();
  await push('q29', 'late');
  await push('q0', 'urgent');

  expect(idsOf(await reserveFrom(connection, { queues, limit: 1, lease: 600, within: 60 }))).toEqual(['urgent']);
});
