import type { Reservation } from '../../../src/connections/contract';
import { eventually } from '../../support/eventually';
import { probe, SqsWorld } from './open-sqs';

const MEGABYTE = 1024 * 1024;

const world = new SqsWorld().forTests();

beforeEach(() => {
  world.createQueue('default');
  world.createQueue('orders.fifo');
});

async function reserve(queue = 'default', limit = 10): Promise<readonly Reservation[]> {
  return (await world.connect().reserve({ queues: [queue], limit, lease: 60 })).reservations;
}

const bodies = (queue = 'default'): readonly string[] => world.server.queues.get(queue)!.bodies;
const sent = (): readonly (readonly Record<string, unknown>[])[] =>
  world.server.asked
    .filter(({ action }) => action === 'SendMessageBatch')
    .map(({ input }) => input['Entries'] as readonly Record<string, unknown>[]);
/** They are under way beside each other. */
const batchSizes = (): readonly number[] =>
  sent()
    .map(({ length }) => length)
    .toSorted((a, b) => a - b);

describe('a push', () => {
  it('goes in batches of ten', async () => {
    await world.connect().push(
      'default',
      Array.from({ length: 25 }, (_, index) => ({ payload: probe(`${index}`) })),
    );

    expect(batchSizes()).toEqual([5, 10, 10]);
    expect(bodies()).toHaveLength(25);
  });

  it('travels with what else is pushed in the same turn, and each hears of its own', async () => {
    const connection = world.connect();
    world.server.failEntries({ action: 'SendMessageBatch', places: [1], code: 'KmsDisabled', senderFault: true });

    const pushes = ['a', 'b', 'c'].map((id) => connection.push('default', [{ payload: probe(id) }]));

    expect((await Promise.allSettled(pushes)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(batchSizes()).toEqual([3]);
    expect(bodies()).toEqual([probe('a'), probe('c')]);
  });

  it('fills no batch beyond what SQS takes at once', async () => {
    const long = `{"job":"probe","data":"${'x'.repeat(400_000)}","attempts":0}`;

    await world.connect().push('default', [{ payload: long }, { payload: long }, { payload: long }]);

    expect(batchSizes()).toEqual([1, 2]);
  });

  it('refuses what SQS does not take, with room for the counters that it will bear', async () => {
    const connection = world.connect();
    const long = (bytes: number): string => `{"job":"${'é'.repeat((bytes - 10) / 2)}"}`;

    await connection.push('default', [{ payload: long(MEGABYTE - 1024) }]);
    await expect(connection.push('default', [{ payload: long(MEGABYTE - 1022) }])).rejects.toMatchObject({
      code: 'E_PAYLOAD_TOO_LARGE',
      facts: { size: MEGABYTE - 1022, limit: MEGABYTE - 1024 },
    });

    expect(bodies()).toHaveLength(1);
  });

  it('says how much a queue takes that takes less', async () => {
    world.createQueue('small', { MaximumMessageSize: '262144' });

    const push = world.connect().push('small', [{ payload: `{"job":"${'x'.repeat(300_000)}"}` }]);

    await expect(push).rejects.toMatchObject({ code: 'E_PAYLOAD_TOO_LARGE', facts: { limit: 262_144 } });
  });

  it('is cut to what the configuration says, where that is less', async () => {
    const connection = world.connect({}, { maxPayload: 262_144 });
    const payload = `{"job":"${'x'.repeat(200_000)}"}`;

    await connection.push('default', [{ payload }, { payload }]);

    expect(batchSizes()).toEqual([1, 1]);
  });

  it('repeats of a batch only what failed, where that may pass', async () => {
    world.server.failEntries({ action: 'SendMessageBatch', places: [1], code: 'InternalError', senderFault: false });

    await world.connect().push(
      'default',
      ['a', 'b', 'c'].map((id) => ({ payload: probe(id) })),
    );

    expect(sent().map((entries) => entries.map(({ MessageBody }) => MessageBody))).toEqual([
      [probe('a'), probe('b'), probe('c')],
      [probe('b')],
    ]);
    expect(bodies()).toEqual([probe('a'), probe('c'), probe('b')]);
  });

  it('names those that were refused where the others are in', async () => {
    world.server.failEntries({ action: 'SendMessageBatch', places: [1], code: 'KmsDisabled', senderFault: true });

    const push = world.connect().push(
      'default',
      ['a', 'b', 'c'].map((id) => ({ payload: probe(id) })),
    );

    await expect(push).rejects.toMatchObject({ code: 'E_SQS_PARTIAL_PUSH', facts: { total: 3, refused: [1] } });
    expect(bodies()).toEqual([probe('a'), probe('c')]);
  });

  it('keeps what SQS would not take within a text, and refuses what no JSON holds', async () => {
    const connection = world.connect();

    await connection.push('default', [{ payload: '{"job":"probe","data":"\uFFFE \u2028 😀"}' }]);
    for (const payload of ['', '{"job":"\u0007"}']) {
      await expect(connection.push('default', [{ payload }])).rejects.toMatchObject({ code: 'E_INVALID_PAYLOAD' });
    }

    const [job] = await reserve();
    expect(JSON.parse(job!.payload.toString())).toMatchObject({ data: '\uFFFE \u2028 😀' });
  });
});

describe('the address of a queue', () => {
  it('is asked for once where no prefix gives it', async () => {
    const connection = world.connect({ prefix: undefined });

    await connection.push('default', [{ payload: probe('a') }]);
    await connection.push('default', [{ payload: probe('b') }]);

    expect(world.server.count('GetQueueUrl')).toBe(1);
    expect(bodies()).toHaveLength(2);
  });

  it('has the suffix before .fifo', async () => {
    world.createQueue('orders-staging.fifo');
    world.createQueue('default-staging');
    const connection = world.connect({ suffix: '-staging' });

    await connection.push('orders.fifo', [{ payload: probe('a') }]);

    expect(bodies('orders-staging.fifo')).toEqual([probe('a')]);
    expect((await connection.queues()).toSorted()).toEqual(['default', 'orders.fifo']);
  });

  it('may stand in place of its name', async () => {
    await world.connect().push(`${world.server.prefix}/orders.fifo`, [{ payload: probe('a') }]);

    expect(bodies('orders.fifo')).toEqual([probe('a')]);
  });

  it.each([{}, { prefix: undefined }])(
    'of a queue that is not there is an error with the remedy: %p',
    async (config) => {
      const push = world.connect(config).push('lost.fifo', [{ payload: probe('a') }]);

      await expect(push).rejects.toMatchObject({
        code: 'E_SQS_QUEUE_MISSING',
        message: expect.stringContaining('aws sqs create-queue --queue-name lost.fifo --attributes FifoQueue=true'),
      });
    },
  );

  it('is that of no queue where AWS lets none bear such a name', async () => {
    const push = world.connect().push('mail:high', [{ payload: probe('a') }]);

    await expect(push).rejects.toMatchObject({ code: 'E_INVALID_QUEUE_NAME' });
  });
});

describe('a job on a FIFO queue', () => {
  const entries = (): readonly unknown[] =>
    sent()
      .flat()
      .map(({ MessageGroupId }) => MessageGroupId);

  it('is of one group with all others, unless the configuration knows better', async () => {
    await world.connect().push('orders.fifo', [{ payload: probe('a') }]);
    const group = ({ id }: { readonly id?: unknown }): string | undefined => (id === 'b' ? 'group b' : undefined);
    await world.connect({ group }).push('orders.fifo', [{ payload: probe('b') }, { payload: probe('c') }]);

    expect(entries()).toEqual(['orders.fifo', expect.stringMatching(/^[\da-f]{64}$/), 'orders.fifo']);
  });

  it('is handed out after the one before it in its group has ended, also when both are asked for at once', async () => {
    const connection = world.connect({ group: () => 'one' });
    await connection.push('orders.fifo', [{ payload: probe('a') }, { payload: probe('b') }]);
    const request = { queues: ['orders.fifo'], limit: 10, lease: 60 };

    const [first, ...more] = (await connection.reserve(request)).reservations;
    await connection.settle([{ outcome: 'released', reservation: first!, delay: 60, counters: first!.counters }]);
    const behind = await connection.reserve(request);
    world.advance(61);
    const [again] = (await connection.reserve(request)).reservations;

    expect(more).toEqual([]);
    expect(behind.reservations).toEqual([]);
    expect(again).toMatchObject({ counters: { attempts: 2, crashes: 0 } });
    expect(JSON.parse(again!.payload.toString())).toMatchObject({ id: 'a' });
  });

  it('is a job of its own, however alike, unless the configuration gives it a key', async () => {
    await world.connect().push('orders.fifo', [{ payload: probe('a') }, { payload: probe('a') }]);
    expect(bodies('orders.fifo')).toHaveLength(2);

    const keyed = world.connect({ deduplicate: ({ id }) => `key ${String(id)}` });
    await keyed.push('orders.fifo', [{ payload: probe('b') }, { payload: probe('b') }]);

    expect(bodies('orders.fifo')).toHaveLength(3);
  });

  it('that failed and is retried is not taken for the first of its key', async () => {
    const keyed = world.connect({ deduplicate: () => 'key' });

    await keyed.push('orders.fifo', [{ payload: probe('a') }]);
    await keyed.push('orders.fifo', [{ payload: '{"job":"probe","id":"a","releases":1,"attempts":0}' }]);

    expect(bodies('orders.fifo')).toHaveLength(2);
  });

  it('does not overtake one that was pushed before it', async () => {
    const connection = world.connect();
    world.server.fail({ action: 'SendMessageBatch', kind: 'refuse', code: 'RequestThrottled', status: 403 });
    const first = connection.push('orders.fifo', [{ payload: probe('a') }]);
    await eventually(() => world.server.count('SendMessageBatch') === 1);

    await Promise.all([first, connection.push('orders.fifo', [{ payload: probe('b') }])]);

    expect(bodies('orders.fifo')).toEqual([probe('a'), probe('b')]);
  });

  it('cannot be delayed', async () => {
    const push = world.connect().push('orders.fifo', [{ payload: probe('a'), delay: 5 }]);

    await expect(push).rejects.toMatchObject({ code: 'E_SQS_FIFO_DELAY', facts: { queue: 'orders.fifo' } });
  });

  it('is pushed once although the answer was lost', async () => {
    world.server.fail({ action: 'SendMessageBatch', kind: 'lose' });

    await world.connect().push('orders.fifo', [{ payload: probe('a') }]);

    expect(bodies('orders.fifo')).toEqual([probe('a')]);
  });
});

it('a group of a standard queue shares workers fairly, and stays with a job that is released', async () => {
  const connection = world.connect({ group: () => 'tenant' });
  await connection.push('default', [{ payload: probe('a') }]);
  const [job] = await reserve();
  await world.connect().settle([{ outcome: 'released', reservation: job!, delay: 0, counters: job!.counters }]);

  expect(
    sent()
      .flat()
      .map(({ MessageGroupId }) => MessageGroupId),
  ).toEqual(['tenant', 'tenant']);
});

it('attributes that others gave a message stay with a job that is released', async () => {
  const trace = { DataType: 'String', StringValue: '1-67891233-abcdef' };
  world.server.queues.get('default')!.send({ MessageBody: probe('a'), MessageAttributes: { trace } });

  const [job] = await reserve();
  await world.connect().settle([{ outcome: 'released', reservation: job!, delay: 0, counters: job!.counters }]);

  expect(sent().flat()).toEqual([expect.objectContaining({ MessageAttributes: { trace } })]);
});

it('a queue is cleared once in a minute', async () => {
  const connection = world.connect();
  await connection.push('default', [{ payload: probe('a') }, { payload: probe('b'), delay: 5 }]);

  expect(await connection.clear('default')).toBe(2);
  await expect(connection.clear('default')).rejects.toMatchObject({ code: 'E_SQS_PURGE_IN_PROGRESS' });
  world.advance(60);
  expect(await connection.clear('default')).toBe(0);
});
