import { MemoryStore } from '../../src/connections/memory/store';
import type { Connection } from '../../src/connections/contract';
import { forgetIdleQueues } from '../../src/operations/figures/queue-sampler';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { elapse, testApplication, type TestApplication } from '../support/application';

@Job()
class Ship extends Job {
  handle(): void {}
}

const DAY = 24 * 3_600_000;

let application: TestApplication;
let connection: Connection;
let turn: number;

beforeEach(() => {
  application = testApplication();
  connection = application.manager.driver();
  turn = 0;
});

afterEach(() => application.manager.close());

async function look(day: number): Promise<readonly string[]> {
  const operations = application.manager.neededOperationsOf(connection);
  await forgetIdleQueues(connection, operations, 1e12 + day * DAY, (turn += 1));
  return connection.queues.names();
}

const use = async (queue: string): Promise<void> => {
  await application.bus.dispatch(new Ship()).onQueue(queue);
};
const empty = (queue: string): Promise<number> => connection.queues.clear!(queue);

it('a queue is forgotten after a week without jobs', async () => {
  for (const queue of ['order-1', 'order-2', 'busy']) await use(queue);
  for (const queue of ['order-1', 'order-2']) await empty(queue);

  expect(await look(0)).toHaveLength(3);
  expect(await look(6.9)).toHaveLength(3);
  expect(await look(7)).toEqual(['busy']);

  await use('order-1');
  expect(await look(7.1)).toEqual(['busy', 'order-1']);
});

it('the week begins again when the queue has had jobs', async () => {
  await use('mail');
  await empty('mail');
  await look(0);
  await use('mail');
  await look(5);
  await empty('mail');

  for (const day of [6, 12.9]) expect(await look(day)).toEqual(['mail']);
  expect(await look(13)).toEqual([]);
});

it('a queue with failed jobs is kept', async () => {
  await use('mail');
  await empty('mail');
  await look(0);
  await connection.failed!.put({
    ...{ id: '1', queue: 'mail', connection: 'memory', name: 'Ship', exception: 'Error', attempts: 1 },
    payload: Buffer.from('{}'),
  });

  expect(await look(8)).toEqual(['mail']);
});

it('workers look, one of them for all', async () => {
  const { clock, manager } = application;
  await use('mail');
  await empty('mail');
  await forgetIdleQueues(connection, manager.neededOperationsOf(connection), clock.now() - 8 * DAY, 1);
  const forget = jest.spyOn(MemoryStore.prototype, 'forget');
  const workers = [1, 2].map(() => new Worker({ queue: 'other' }, manager));
  const running = workers.map((worker) => worker.run());

  await elapse(clock, 130);

  expect(forget.mock.calls).toEqual([['mail']]);
  expect(await connection.queues.names()).toEqual([]);
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all(running);
});
