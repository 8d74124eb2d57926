import { SqsCaller } from '../../../src/connections/sqs/caller';
import { QueueNames } from '../../../src/connections/sqs/queue';
import { contextOf, probe, SqsWorld } from './open-sqs';
import { reserveFrom, waitOn } from '../../support/exchange';

const world = new SqsWorld().forTests();

it('a connection remembers the last thousand queues, and every queue that it waits on', async () => {
  world.createQueue('default');
  const connection = world.connect();
  const wait = waitOn(connection, ['default'], 3600, new AbortController().signal);
  const over = AbortSignal.abort();
  for (let at = 0; at < 1010; at += 1) await waitOn(connection, [`q-${at}`], 1, over);
  await world.connect().push('default', [{ payload: probe('a') }]);
  await wait;
  const { reservations } = await reserveFrom(connection, { queues: ['default'], limit: 1, lease: 60 });

  expect(reservations).toHaveLength(1);
  // Comes from the job that the wait has brought.
  expect(world.server.count('ReceiveMessage')).toBe(1);
  // A thousand real calls would take as long as a hundred other tests.
  const calls = jest.spyOn(SqsCaller.prototype, 'call').mockResolvedValue({ Attributes: {} });
  await connection.diagnose();
  expect(calls.mock.calls.filter(([{ operation }]) => operation === 'GetQueueAttributes')).toHaveLength(1000);
  calls.mockRestore();
});

it('the addresses of the last thousand queues are remembered', async () => {
  const asked: string[] = [];
  const call = ({ queue }: { queue: string }): Promise<object> => {
    asked.push(queue);
    return Promise.resolve({ QueueUrl: `https://sqs.example.org/1/${queue}` });
  };
  const names = new QueueNames({ settings: contextOf(), link: {}, call } as unknown as SqsCaller, { driver: 'sqs' });
  for (let at = 0; at < 3000; at += 1) await names.urlOf(`q-${at}`);
  for (const name of ['q-2999', 'q-2000', 'q-1999']) await names.urlOf(name);

  expect(asked.slice(3000)).toEqual(['q-1999']);
});
