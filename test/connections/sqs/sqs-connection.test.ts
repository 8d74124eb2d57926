import type { Reservation } from '../../../src/connections/contract';
import { eventually } from '../../support/eventually';
import { probe, SqsWorld } from './open-sqs';
import { reserveFrom, settleIn } from '../../support/exchange';

const MEGABYTE = 1024 * 1024;

const world = new SqsWorld().forTests();

beforeEach(() => {
  world.createQueue('default');
  world.createQueue('orders.fifo');
});

async function reserve(queue = 'default', limit = 10): Promise<readonly Reservation[]> {
  return (await reserveFrom(world.connect(), { queues: [queue], limit, lease: 60 })).reservations;
}

const bodies = (queue = 'default'): readonly string[] => world.server.queues.get(queue)!.bodies;
const sent = (): readonly (readonly Record<string, unknown>[])[] =>
  world.server.asked
    .filter(({ action }) => action === 'SendMessageBatch')
    .map(({ input }) => input['Entries'] as readonly Record<string, unknown>[]);
/** In any order, because the requests run at the same time. */
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

  it('shares requests with other pushes of the same turn, and each gets its own result', async () => {
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

  it('keeps batches within the size limit of SQS', async () => {
    const long = `{"job":"probe","data":"${'x'.repeat(400_000)}","attempts":0}`;

    await world.connect().push('default', [{ payload: long }, { payload: long }, { payload: long }]);

    expect(batchSizes()).toEqual([1, 2]);
  });

  it('refuses a payload that SQS would not accept once it has its counters', async () => {
    const connection = world.connect();
    const long = (bytes: number): string => `{"job":"${'é'.repeat((bytes - 10) / 2)}"}`;

    await connection.push('default', [{ payload: long(MEGABYTE - 1024) }]);
    await expect(connection.push('default', [{ payload: long(MEGABYTE - 1022) }])).rejects.toMatchObject({
      code: 'E_PAYLOAD_TOO_LARGE',
      facts: { size: MEGABYTE - 1022, limit: MEGABYTE - 1024 },
    });

    expect(bodies()).toHaveLength(1);
  });

  it('names the limit of a queue that accepts less', async () => {
    world.createQueue('small', { MaximumMessageSize: '262144' });

    const push = world.connect().push('small', [{ payload: `{"job":"${'x'.repeat(300_000)}"}` }]);

    await expect(push).rejects.toMatchObject({ code: 'E_PAYLOAD_TOO_LARGE', facts: { limit: 262_144 } });
  });

  it('is limited by the configuration if that is lower', async () => {
    const connection = world.connect({}, { maxPayload: 262_144 });
    const payload = `{"job":"${'x'.repeat(200_000)}"}`;

    await connection.push('default', [{ payload }, { payload }]);

    expect(batchSizes()).toEqual([1, 1]);
  });

  it('repeats only the failed entries of a batch, if their error is passing', async () => {
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

  it('names the refused jobs if the others were queued', async () => {
    world.server.failEntries({ action: 'SendMessageBatch', places: [1], code: 'KmsDisabled', senderFault: true });

    const push = world.connect().push(
      'default',
      ['a', 'b', 'c'].map((id) => ({ payload: probe(id) })),
    );

    await expect(push).rejects.toMatchObject({ code: 'E_SQS_PARTIAL_PUSH', facts: { total: 3, refused: [1] } });
    expect(bodies()).toEqual([probe('a'), probe('c')]);
  });

  it('keeps characters that SQS would not accept within a text, and refuses those that JSON cannot contain', async () => {
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
  it('is requested once if there is no prefix', async () => {
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
    expect((await connection.queues.names()).toSorted()).toEqual(['default', 'orders.fifo']);
  });

  it('can be used in place of its name', async () => {
    await world.connect().push(`${world.server.prefix}/orders.fifo`, [{ payload: probe('a') }]);

    expect(bodies('orders.fifo')).toEqual([probe('a')]);
  });

  it.each([{}, { prefix: undefined }])('of a missing queue is an error with the remedy: %p', async (config) => {
    const push = world.connect(config).push('lost.fifo', [{ payload: probe('a') }]);

    await expect(push).rejects.toMatchObject({
      code: 'E_SQS_QUEUE_MISSING',
      message: expect.stringContaining('aws sqs create-queue --queue-name lost.fifo --attributes FifoQueue=true'),
    });
  });

  it('is not requested for a name that AWS does not allow', async () => {
    const push = world.connect().push('mail:high', [{ payload: probe('a') }]);

    await expect(push).rejects.toMatchObject({ code: 'E_INVALID_QUEUE_NAME' });
  });
});

describe('a job on a FIFO queue', () => {
  const entries = (): readonly unknown[] =>
    sent()
      .flat()
      .map(({ MessageGroupId }) => MessageGroupId);

  it('is in one group with all others, unless the configuration says otherwise', async () => {
    await world.connect().push('orders.fifo', [{ payload: probe('a') }]);
    const group = ({ id }: { readonly id?: unknown }): string | undefined => (id === 'b' ? 'group b' : undefined);
    await world.connect({ group }).push('orders.fifo', [{ payload: probe('b') }, { payload: probe('c') }]);

    expect(entries()).toEqual(['orders.fifo', expect.stringMatching(/^[\da-f]{64}$/), 'orders.fifo']);
  });

  it('is in a group of its own for each value, also if that is no text', async () => {
    const connection = world.connect({ group: ({ tenant }) => tenant as string });
    const tenants = [42, 0, '', { id: 7 }];
    await connection.push(
      'orders.fifo',
      tenants.map((tenant) => ({ payload: JSON.stringify({ job: 'probe', tenant, attempts: 0 }) })),
    );

    const digest = expect.stringMatching(/^[\da-f]{64}$/) as unknown;
    expect(entries()).toEqual(['42', '0', digest, '{"id":7}']);
  });

  it('is handed out after the previous one in its group has ended, even if both are requested at once', async () => {
    const connection = world.connect({ group: () => 'one' });
    await connection.push('orders.fifo', [{ payload: probe('a') }, { payload: probe('b') }]);
    const request = { queues: ['orders.fifo'], limit: 10, lease: 60 };

    const [first, ...more] = (await reserveFrom(connection, request)).reservations;
    await settleIn(connection, [{ outcome: 'released', reservation: first!, delay: 60, counters: first!.counters }]);
    const behind = await reserveFrom(connection, request);
    world.advance(61);
    const [again] = (await reserveFrom(connection, request)).reservations;

    expect(more).toEqual([]);
    expect(behind.reservations).toEqual([]);
    expect(again).toMatchObject({ counters: { attempts: 2, crashes: 0 } });
    expect(JSON.parse(again!.payload.toString())).toMatchObject({ id: 'a' });
  });

  it('is a separate job even if equal to another, unless the configuration gives it a key', async () => {
    await world.connect().push('orders.fifo', [{ payload: probe('a') }, { payload: probe('a') }]);
    expect(bodies('orders.fifo')).toHaveLength(2);

    const keyed = world.connect({ deduplicate: ({ id }) => `key ${String(id)}` });
    await keyed.push('orders.fifo', [{ payload: probe('b') }, { payload: probe('b') }]);

    expect(bodies('orders.fifo')).toHaveLength(3);
  });

  it('that is retried after a failure is not mistaken for a duplicate', async () => {
    const keyed = world.connect({ deduplicate: () => 'key' });

    await keyed.push('orders.fifo', [{ payload: probe('a') }]);
    await keyed.push('orders.fifo', [{ payload: '{"job":"probe","id":"a","releases":1,"attempts":0}' }]);

    expect(bodies('orders.fifo')).toHaveLength(2);
  });

  it('does not overtake a job that was pushed earlier', async () => {
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

  it('is pushed once even if the answer is lost', async () => {
    world.server.fail({ action: 'SendMessageBatch', kind: 'lose' });

    await world.connect().push('orders.fifo', [{ payload: probe('a') }]);

    expect(bodies('orders.fifo')).toEqual([probe('a')]);
  });
});

it('a group of a standard queue shares workers fairly, and stays with a job that is released', async () => {
  const connection = world.connect({ group: () => 'tenant' });
  await connection.push('default', [{ payload: probe('a') }]);
  const [job] = await reserve();
  await settleIn(world.connect(), [{ outcome: 'released', reservation: job!, delay: 0, counters: job!.counters }]);

  expect(
    sent()
      .flat()
      .map(({ MessageGroupId }) => MessageGroupId),
  ).toEqual(['tenant', 'tenant']);
});

it('attributes of messages of other clients stay with a job that is released', async () => {
  const trace = { DataType: 'String', StringValue: '1-67891233-abcdef' };
  world.server.queues.get('default')!.send({ MessageBody: probe('a'), MessageAttributes: { trace } });

  const [job] = await reserve();
  await settleIn(world.connect(), [{ outcome: 'released', reservation: job!, delay: 0, counters: job!.counters }]);

  expect(sent().flat()).toEqual([expect.objectContaining({ MessageAttributes: { trace } })]);
});

it('a queue can be cleared once a minute', async () => {
  const connection = world.connect();
  await connection.push('default', [{ payload: probe('a') }, { payload: probe('b'), delay: 5 }]);

  expect(await connection.queues.clear!('default')).toBe(2);
  await expect(connection.queues.clear!('default')).rejects.toMatchObject({ code: 'E_SQS_PURGE_IN_PROGRESS' });
  world.advance(60);
  expect(await connection.queues.clear!('default')).toBe(0);
});
