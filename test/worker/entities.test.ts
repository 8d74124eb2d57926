/** Entities in jobs: references in payloads, loaded again before they are used. */
import {
  Bus,
  Events,
  Job,
  JobContext,
  Listens,
  Middleware,
  MissingEntityError,
  Queue,
  type EntityAdapter,
} from 'onqueue';
import { reference, rows } from 'onqueue/entities';
import type { FakeQueue } from 'onqueue/testing';
import { QueueManager } from '../../src/application/queue-manager';
import { builtInConnectors } from '../../src/connections/built-in';
import { Worker } from '../../src/worker/worker';
import { Gate, testApplication, until } from '../support/application';

abstract class Entity {
  constructor(
    readonly id: number | bigint | object | undefined,
    public name = '',
  ) {}
}

class Order extends Entity {}
class Customer extends Entity {}
class Seat extends Entity {}
class Foreign extends Entity {}

const CLASSES = { Order, Customer, Seat };

/** The names of the rows by class and id, and what was asked of them. */
let table: Map<string, string>;
let queries: string[];
let meanwhile: () => Promise<void> | void;

const keyOf = (name: string, id: unknown): string =>
  `${name} ${typeof id === 'object' ? JSON.stringify(id) : String(id as number)}`;

const adapter: EntityAdapter = {
  name: 'orm',
  identify: (value) =>
    value instanceof Order || value instanceof Customer || value instanceof Seat
      ? { class: value.constructor.name, id: value.id, connection: value instanceof Seat ? 'halls' : undefined }
      : undefined,
  async load({ class: name, connection }, ids, scope) {
    queries.push(`${ids.length} of ${name}${connection === undefined ? '' : ` in ${connection}`}`);
    expect(scope.resolve(JobContext)).toBeInstanceOf(JobContext);
    await meanwhile();
    return ids.map((id) => {
      const found = table.get(keyOf(name, id));
      return found === undefined ? undefined : new CLASSES[name as keyof typeof CLASSES](id as number, found);
    });
  },
};

let runs: unknown[];
let failures: unknown[];

@Job({ tries: 2 })
class Invoice extends Job {
  constructor(readonly data: unknown) {
    super();
  }

  handle(): unknown {
    runs.push(this.data);
    return undefined;
  }

  failed(error: Error): void {
    failures.push([this.data, error]);
  }
}

@Job({ deleteWhenMissing: true })
class Optional extends Invoice {}

@Middleware()
class ForCustomer implements Middleware {
  constructor(readonly customer: Customer) {}

  handle(_job: JobContext, next: () => Promise<unknown>): Promise<unknown> {
    runs.push(this.customer);
    return next();
  }
}

class Paid {
  constructor(readonly order: Order) {}
}

@Listens(Paid)
class _HearsPaid {
  handle(event: Paid): void {
    runs.push(event);
  }

  failed(event: Paid, error: Error): void {
    failures.push([event, error]);
  }
}

const order = new Order(1, 'as dispatched');

let queue: FakeQueue;

beforeEach(() => {
  table = new Map([1, 2, 3].map((id) => [`Order ${id}`, `order ${id}`]));
  table
    .set('Customer 1', 'Ada')
    .set(keyOf('Seat', { hall: 'A', place: 7 }), 'seat')
    .set('Order 9007199254740993', 'big');
  [queries, runs, failures] = [[], [], []];
  meanwhile = () => undefined;
  queue = Queue.fake();
  queue.manager.configure({
    entities: [
      adapter,
      rows({ line: { many: (ids) => ids.filter((id) => id !== 9).map((id: number) => ({ id, row: true })) } }),
    ],
  });
});
afterEach(() => queue.restore());

const sent = (): unknown => queue.pushes.at(-1)!.payload['data'];

describe('an entity in a job', () => {
  it('travels as a reference in a payload that older workers give back, and is loaded before handle()', async () => {
    await Bus.dispatch(new Invoice({ order }));
    expect(sent()).toEqual({
      commandName: 'Invoice',
      command: { data: { order: { class: 'Order', id: 1 } } },
      types: { '/data/order': 'entity:orm' },
    });
    expect(queue.pushes[0]!.payload['job']).toBe('onqueue+');
    await queue.drain();
    expect(runs).toEqual([{ order: new Order(1, 'order 1') }]);
    expect((runs[0] as { order: unknown }).order).toBeInstanceOf(Order);
  });

  it('is one object wherever it is, and each class costs one query', async () => {
    const list = [new Order(3), new Order(2), new Order(1)];
    const [seat, customer] = [new Seat({ hall: 'A', place: 7 }), new Customer(1)];
    await Bus.dispatch(new Invoice({ list, deep: { order: [{ order }] }, seat, customer, twice: [customer, order] }));
    expect(sent()).toMatchObject({
      command: { data: { list: { class: 'Order', ids: [3, 2, 1] }, seat: { class: 'Seat', connection: 'halls' } } },
      types: { '/data/list': 'entities:orm', '/data/twice/0': 'entity:orm', '/data/twice/1': 'entity:orm' },
    });
    await queue.drain();
    const [data] = runs as [
      { list: Order[]; deep: { order: { order: Order }[] }; customer: Customer; twice: Entity[] },
    ];
    expect(data.list.map(({ name }) => name)).toEqual(['order 3', 'order 2', 'order 1']);
    expect([data.deep.order[0]!.order, data.twice[1]]).toEqual([data.list[2], data.list[2]]);
    expect(data.deep.order[0]!.order).toBe(data.list[2]);
    expect(data.twice[0]).toBe(data.customer);
    expect(queries.toSorted()).toEqual(['1 of Customer', '1 of Seat in halls', '3 of Order']);
  });

  it('is one of 1,000 references of 3 classes that cost 3 queries', async () => {
    const kinds = [Order, Customer, Seat];
    const all = Array.from({ length: 1000 }, (_, place) => new kinds[place % 3]!(place));
    for (const { constructor, id } of all) table.set(`${constructor.name} ${String(id as number)}`, 'there');
    await Bus.dispatch(new Invoice(all));
    await queue.drain();
    expect([(runs[0] as unknown[]).length, queries.length]).toEqual([1000, 3]);
  });

  it('may have an id that JSON cannot express', async () => {
    const big = 9007199254740993n;
    await Bus.dispatch(new Invoice([new Order(big), new Order(1)]));
    await queue.drain();
    expect(runs).toEqual([[new Order(big, 'big'), new Order(1, 'order 1')]]);
  });

  it('is loaded for middleware, chain links, batches and events too', async () => {
    await Bus.dispatch(new Invoice(1).through(new ForCustomer(new Customer(1))));
    await Queue.chain([new Invoice(2), new Invoice(order)]).dispatch();
    await Queue.batch([new Invoice([order]), [new Invoice(3), new Invoice(order)]]).dispatch();
    await Events.dispatch(new Paid(order));
    const { failed } = await queue.drain();
    const loaded = new Order(1, 'order 1');
    expect(failed).toEqual([]);
    expect(runs).toEqual(expect.arrayContaining([new Customer(1, 'Ada'), 1, 2, loaded, [loaded], 3, new Paid(loaded)]));
    expect(runs).toHaveLength(8);
  });

  it('that is a row is named by reference(), and loaded by the function of its kind', async () => {
    const line = reference<{ id: number; row: boolean }>('line', 4);
    await Bus.dispatch(new Invoice({ line, lines: [reference('line', 2), reference('line', 1)] }));
    await queue.drain();
    const row = (id: number): object => ({ id, row: true });
    expect(runs).toEqual([{ line: row(4), lines: [row(2), row(1)] }]);
    await expect(Bus.dispatch(new Invoice(reference('lin', 4)))).rejects.toThrow(
      "rows() in the configuration has no 'lin'; it has line.",
    );
    expect(() => rows({ line: ((ids: number[]) => ids.map(row)) as never })).toThrow(
      "rows() has no many(ids) for 'line'. Write rows({ line: { many: (ids) => … } }).",
    );
  });

  it('is a reference to a test that looks at what was pushed', async () => {
    await Bus.dispatch(new Invoice(order));
    expect(queue.pushed(Invoice, ({ data }) => (data as Order).id === 1)).toHaveLength(1);
  });
});

describe('an entity that cannot travel', () => {
  it.each([
    [
      'is not saved',
      new Order(undefined),
      'E_UNSAVED_ENTITY',
      'Invoice.data[0].it: this Order has no id. Save it before the dispatch.',
    ],
    [
      'is of no adapter',
      new Foreign(1),
      'E_UNSERIALIZABLE_VALUE',
      'Invoice.data[0].it is a Foreign, which a queue cannot carry.',
    ],
    [
      'is in a Map',
      new Map([['a', order]]),
      'E_UNSERIALIZABLE_VALUE',
      'is an Order in a Map, which a queue cannot carry.',
    ],
    ['is in a Set', new Set([order]), 'E_UNSERIALIZABLE_VALUE', 'is an Order in a Set'],
    ['is in an error', Object.assign(new Error('x'), { order }), 'E_UNSERIALIZABLE_VALUE', 'is an Order in an Error'],
  ])('because it %s is refused at dispatch, with its path', async (_why, it, code, message) => {
    await expect(Bus.dispatch(new Invoice([{ it }]))).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
    });
    queue.assertNothingPushed();
  });
});

describe('an entity that is gone', () => {
  it('fails the attempt, and failed() gets undefined in its place', async () => {
    await Bus.dispatch(new Invoice({ order, list: [new Order(2), new Order(3)] }));
    table.delete('Order 1');
    table.delete('Order 3');
    const { released, failed } = await queue.drain();
    const [run] = failed;
    expect([released.length, failed.length, run!.attempts]).toEqual([1, 1, 2]);
    expect(run!.error).toBeInstanceOf(MissingEntityError);
    expect(run!.error!.message).toBe(`Order 1 is gone; Invoice ${run!.id} needs it.`);
    expect([runs, failures]).toEqual([
      [],
      [[{ order: undefined, list: [new Order(2, 'order 2'), undefined] }, run!.error]],
    ]);
  });

  it('cancels a job that says deleteWhenMissing', async () => {
    const cancelled: unknown[] = [];
    Queue.cancelled(({ reason }) => cancelled.push(reason));
    const id = await Bus.dispatch(new Optional(new Order(8)));
    const report = await queue.drain();
    expect(report).toMatchObject({ cancelled: [{ id }], failed: [], released: [], reported: [] });
    expect([cancelled, runs, failures]).toEqual([[`Order 8 is gone; Optional ${id} needs it.`], [], []]);
  });

  it('is one whose database is away if load() throws: an ordinary attempt, also for failed()', async () => {
    meanwhile = () => {
      throw new Error('no connection');
    };
    await Bus.dispatch(new Optional(order));
    await Events.dispatch(new Paid(order));
    const { failed, reported } = await queue.drain();
    expect(failed.map(({ error }) => error!.message)).toEqual(['no connection', 'no connection']);
    expect(reported).toEqual([new Error('no connection'), new Error('no connection')]);
    expect(failures).toEqual([]);
  });

  it('is told from an adapter that does not answer for each id', async () => {
    queue.manager.configure({ entities: [{ ...adapter, load: async () => [] }] });
    await Bus.dispatch(new Invoice(order));
    const { failed } = await queue.drain();
    expect(failed[0]!.error).toMatchObject({ code: 'E_INVALID_ENTITIES' });
    expect(failed[0]!.error!.message).toContain("The adapter 'orm' was asked for 1 of Order and gave 0.");
  });
});

describe('a worker', () => {
  it('gives a job back for free if it has no adapter for its entities', async () => {
    const { manager, clock, bus } = testApplication({ entities: [adapter] });
    await bus.dispatch(new Invoice(order));
    const push = manager.driver();
    const other = new QueueManager(
      { connectors: { ...builtInConnectors, memory: () => push }, logger: manager.logger, clock },
      { default: 'memory', connections: { memory: { driver: 'memory' } } },
    );
    const released: unknown[] = [];
    other.hooks.on('released', ({ job, exception }) => released.push([job.attempts, exception?.message]));
    const worker = new Worker({}, other);
    const running = worker.run();
    await until(clock, () => released.length === 1);
    expect(released).toEqual([
      [
        1,
        "This payload holds an entity of 'orm', which needs an adapter of that name in `entities` of the configuration.",
      ],
    ]);
    await worker.stop();
    await running;
    await manager.close();
  });

  it('does not start a handler whose entities came after its timeout', async () => {
    const gate = new Gate();
    meanwhile = () => gate.opened;
    const { manager, clock, bus } = testApplication({ entities: [adapter] });
    const worker = new Worker({ timeout: '10s', grace: '5s' }, manager);
    const running = worker.run();
    await bus.dispatch(new Optional(order));
    await until(clock, () => queries.length === 1);
    for (let second = 0; second < 16; second += 1) await clock.advance('1s');
    await until(clock, () => worker.health().outcomes.released === 1);
    gate.open();
    await worker.stop();
    await running;
    expect(runs).toEqual([]);
    await manager.close();
  });

  it.each([
    ['no object', 'Order'],
    ['no class', { id: 1 }],
    ['no id', { class: 'Order' }],
    ['a list for one', { class: 'Order', ids: [1] }],
    ['a connection that is no name', { class: 'Order', id: 1, connection: {} }],
  ])('fails a job whose reference is damaged: %s', async (_what, form) => {
    const data = { commandName: 'Invoice', command: { data: form }, types: { '/data': 'entity:orm' } };
    await Queue.pushRaw(JSON.stringify({ job: 'onqueue+', data, id: '1', attempts: 0 }));
    const { failed } = await queue.drain();
    expect(failed[0]!.error!.message).toContain('/data/command/data: the value there is no reference to an entity.');
  });
});

describe('entities in the configuration', () => {
  it.each([
    [{}, 'expected an array'],
    [[adapter, { name: 'x' }], "expected an adapter at [1], such as typeorm(dataSource) from 'onqueue/entities'"],
    [[adapter, adapter], "two adapters are called 'orm'; give everything to one, as in typeorm({ shop, archive })"],
  ])('are checked', (entities, problem) => {
    expect(() => queue.manager.configure({ entities: entities as never })).toThrow(problem);
  });

  it('are asked in their order', async () => {
    queue.manager.configure({ entities: [{ ...adapter, name: 'first' }, adapter] });
    await Bus.dispatch(new Invoice(order));
    expect(sent()).toMatchObject({ types: { '/data': 'entity:first' } });
  });
});

it('is not asked for by jobs without entities', async () => {
  const identify = jest.fn();
  queue.manager.configure({ entities: [{ ...adapter, identify }] });
  await Bus.dispatch(new Invoice({ at: new Date(), map: new Map([[1, [2]]]), list: [new Invoice(1)] }));
  expect(identify).not.toHaveBeenCalled();
  expect(queue.pushes[0]!.payload['job']).toBe('onqueue');
});
