/** Events and their listeners, from the dispatch to `failed()`. */
import Libsql from 'libsql';
import { container } from 'tsyringe';
import {
  Events,
  EventBus,
  Inject,
  JobContext,
  Listens,
  Queue,
  UnserializableValueError,
  Worker,
  type Middleware,
} from 'onqueue';
import type { FakeQueue } from 'onqueue/testing';
import { listedJobs } from '../../src/cli/commands/classes';
import { TemporaryDatabase } from '../connections/sql/open-database';
import { Gate } from '../support/application';
import { watchedApplication, type WatchedApplication } from '../support/watched-application';

class Mailer {
  readonly name: string = 'mailer';
}

abstract class OrderEvent {
  constructor(readonly order: number) {}
}

class Shipped extends OrderEvent {
  constructor(
    order: number,
    readonly total: number,
    readonly at: Date = new Date(0),
  ) {
    super(order);
  }

  get isLarge(): boolean {
    return this.total > 100;
  }
}

class Returned extends OrderEvent {}
Events.register({ Returned });

class Forgotten extends OrderEvent {}

class Unheard {}

/** What listeners did, in order. */
let notes: unknown[];
let answer: (event: Shipped) => boolean | Promise<boolean>;
let behave: () => void;

@Listens(Shipped, { queue: 'mail', tries: 2, backoff: 0 })
class SendMail {
  constructor(private readonly mailer: Mailer) {}

  shouldQueue(event: Shipped): boolean | Promise<boolean> {
    return answer(event);
  }

  middleware(event: Shipped): Middleware['handle'][] {
    return [
      (job, next) => {
        notes.push(`${this.mailer.name} around ${job.name} of ${event.order}`);
        return next();
      },
    ];
  }

  handle(event: Shipped, @Inject(JobContext) job: JobContext, @Inject(Mailer) other: Mailer): string {
    notes.push([event, event.isLarge, job.name, job.attempts, this.mailer.name, other.name]);
    behave();
    return `mail ${event.order}`;
  }

  failed(event: Shipped, error: Error, @Inject(Mailer) mailer: Mailer): void {
    notes.push([event.order, error.message, mailer.name]);
  }
}

@Listens(OrderEvent, { queue: 'audit' })
class Audit {
  handle(event: OrderEvent): void {
    notes.push(`${event.constructor.name} ${event.order}`);
  }
}

@Listens(Shipped, { queue: 'mail', unique: { by: (event: Shipped) => event.order } })
class CountOnce {
  readonly unasked = true;

  timeout(event: Shipped): number {
    return event.order;
  }

  handle(): void {}
}

const ORDER = ['SendMail', 'Audit', 'CountOnce'];

beforeEach(() => {
  notes = [];
  answer = () => true;
  behave = () => undefined;
});

describe('an event', () => {
  let queue: FakeQueue;

  beforeEach(() => (queue = Queue.fake()));
  afterEach(() => queue.restore());

  it('becomes one job for each listener of its class and of the classes above, in the order of their declarations', async () => {
    const ids = await Events.dispatch(new Shipped(1, 200));
    expect(queue.pushes.map(({ name, queue: on, id }) => [name, on, id]).toSorted()).toEqual(
      ORDER.map((name, place) => [name, name === 'Audit' ? 'audit' : 'mail', ids[place]]).toSorted(),
    );
    queue.assertPushed(SendMail, (event: Shipped) => event.isLarge && event.at.getTime() === 0);
    queue.assertPushedTimes(Audit, 1);
    queue.assertPushedOn('mail', CountOnce);
    queue.assertNotPushed(Audit, (event: OrderEvent) => event.order !== 1);
  });

  it('runs with its class, with injection, middleware and the options of the listener', async () => {
    const event = new Shipped(1, 200);
    await Events.dispatch(event);
    const { completed } = await queue.drain({ queue: 'mail' });
    expect(notes).toEqual(['mailer around SendMail of 1', [event, true, 'SendMail', 1, 'mailer', 'mailer']]);
    expect(completed).toMatchObject([
      { name: 'SendMail', job: event, value: 'mail 1' },
      { name: 'CountOnce', job: event },
    ]);
  });

  it('is retried as the listener says, and then given to failed() with the error', async () => {
    behave = () => {
      throw new Error('no such address');
    };
    await Events.dispatch(new Shipped(7, 5));
    const { failed, released } = await queue.drain();
    expect([released, failed]).toMatchObject([[{ name: 'SendMail' }], [{ name: 'SendMail', attempts: 2 }]]);
    expect(notes.at(-2)).toEqual([7, 'no such address', 'mailer']);
    expect((await Queue.failed.list()).map(({ name }) => name)).toEqual(['SendMail']);
  });

  it('is not sent to a listener that does not want it, which may say so later', async () => {
    answer = async ({ total }) => Promise.resolve(total > 10);
    expect(await Events.dispatch(new Shipped(1, 5))).toHaveLength(2);
    expect(await Events.dispatch(new Shipped(2, 50))).toHaveLength(3);
    queue.assertPushed(SendMail, 1);
    queue.assertPushed(SendMail, (event: Shipped) => event.order === 2);
  });

  it('is sent to nobody if asking a listener fails', async () => {
    answer = () => {
      throw new Error('no database');
    };
    await expect(Events.dispatch(new Shipped(1, 5))).rejects.toThrow('no database');
    queue.assertNothingPushed();
  });

  it('gives no ids if nobody listens', async () => {
    expect(await Events.dispatch(new Unheard())).toEqual([]);
    queue.assertNothingPushed();
  });

  it('is heard only by listeners of a class above if its own class was registered for workers', async () => {
    expect(await Events.dispatch(new Returned(3))).toHaveLength(1);
    await queue.drain();
    expect(notes).toEqual(['Returned 3']);
    await expect(Events.dispatch(new Forgotten(4))).rejects.toMatchObject({
      code: 'E_INVALID_EVENT',
      message:
        'This Forgotten cannot be sent to listeners. Only a parent of its class has listeners, so no worker could make it: ' +
        'call Events.register({ Forgotten }) below the class.',
    });
    queue.assertCount(1);
  });

  it.each([
    ['a plain object', { order: 1 }, 'A plain object cannot be sent to listeners. Give an instance of a class'],
    ['a class', Shipped, 'The class Shipped cannot be sent'],
    ['a name', 'order.shipped', 'A plain string cannot be sent'],
    ['nothing', undefined, 'undefined cannot be sent'],
    ['null', null, 'null cannot be sent'],
    ['a list', [new Unheard()], 'This Array cannot be sent'],
  ])('is an instance of a class, not %s', async (_what, value, message) => {
    await expect(Events.dispatch(value as never)).rejects.toMatchObject({
      code: 'E_INVALID_EVENT',
      message: expect.stringContaining(message) as string,
    });
  });

  it('is encoded before anything is sent, and says which value cannot travel', async () => {
    const event = Object.assign(new Shipped(1, 1), { send: () => undefined });
    await expect(Events.dispatch(event)).rejects.toThrow(UnserializableValueError);
    await expect(Events.dispatch(event)).rejects.toThrow('SendMail.event.send is a function');
    queue.assertNothingPushed();
  });

  it('takes the choices of the dispatch for all of its jobs, until it is sent', async () => {
    const pending = Events.dispatch(new Shipped(1, 1)).onQueue('now').delay('10s');
    await pending;
    expect(queue.pushes).toMatchObject(ORDER.map((name) => ({ name, queue: 'now', delay: 10 })));
    expect(() => pending.onQueue('late')).toThrow(expect.objectContaining({ code: 'E_ALREADY_DISPATCHED' }));
  });

  it('asks a method of the listener for an option, with the event', async () => {
    await Events.dispatch(new Shipped(12, 1));
    expect(queue.pushed(CountOnce)[0]!.payload).toMatchObject({ timeout: 12 });
  });

  it('resolves to the id of the job that holds the key of a unique listener', async () => {
    const [, , first] = await Events.dispatch(new Shipped(1, 1));
    const [, , second] = await Events.dispatch(new Shipped(1, 2));
    const [, , other] = await Events.dispatch(new Shipped(2, 1));
    expect([second, other === first]).toEqual([first, false]);
    queue.assertSkipped(CountOnce, (event: Shipped) => event.total === 2);
  });

  it('follows the route of a listener', async () => {
    class Routed {}
    @Listens(Routed)
    class HearsRouted {
      handle(_event: Routed): void {}
    }
    Queue.route(HearsRouted, { queue: 'elsewhere' });
    await Events.dispatch(new Routed());
    expect(queue.pushed(HearsRouted)).toMatchObject([{ queue: 'elsewhere' }]);
  });

  it('can be faked for some listeners only', async () => {
    queue.restore();
    queue = Queue.fake({ except: [Audit], only: [SendMail, Audit, CountOnce] });
    queue.manager.configure({ default: 'null', connections: { null: { driver: 'null' } } });
    await Events.dispatch(new Shipped(1, 1));
    expect(queue.pushes.map(({ name }) => name)).toEqual(['SendMail', 'CountOnce']);
  });

  it('is shown with its listeners while it is on its way', async () => {
    const pending = Events.dispatch(new Shipped(1, 1));
    expect(String(Reflect.get(pending, Symbol.for('nodejs.util.inspect.custom')).call(pending))).toBe(
      'PendingDispatch(Shipped → its listeners, not awaited, no id yet)',
    );
    await pending;
  });
});

describe('an event in a program', () => {
  let app: WatchedApplication;
  let events: EventBus;

  beforeEach(() => {
    app = watchedApplication({
      default: 'main',
      connections: { main: { driver: 'memory' }, other: { driver: 'memory' }, sync: { driver: 'sync' } },
    });
    events = new EventBus(() => app.manager);
  });
  afterEach(() => app.manager.close());

  const pushed = (): number[] => app.watched().pushes.map(({ entries }) => entries.length);

  it('takes one call for each connection and queue', async () => {
    await events.dispatch(new Shipped(1, 1));
    expect(app.watched().pushes.map(({ queue, entries }) => [queue, entries.length])).toEqual([
      ['mail', 2],
      ['audit', 1],
    ]);
  });

  it('says which of its jobs are in if a store fails on the way', async () => {
    app.watched().beforePush = (count) => {
      if (count === 1) throw new Error('gone');
    };
    await expect(events.dispatch(new Shipped(1, 1))).rejects.toMatchObject({
      code: 'E_BULK_INTERRUPTED',
      facts: { unsent: [1], total: 3 },
    });
  });

  it('waits for the commit', async () => {
    await Queue.transaction(async () => {
      expect(await events.dispatch(new Shipped(1, 1)).afterCommit()).toHaveLength(3);
      expect(pushed()).toEqual([]);
    });
    expect(pushed()).toEqual([2, 1]);
  });

  it('is forgotten with the transaction that was rolled back', async () => {
    const failing = Queue.transaction(async () => {
      await events.dispatch(new Shipped(1, 1)).afterCommit();
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(pushed()).toEqual([]);
  });

  it.each([true, false])(
    'is not lost if a listener is asked for longer than the transaction lasts, and is sent only if it committed: %s',
    async (commits) => {
      const gate = new Gate();
      answer = () => gate.opened.then(() => true);
      let pending!: Promise<unknown>;
      const transaction = Queue.transaction(async () => {
        pending = events.dispatch(new Shipped(1, 1)).afterCommit();
        pending.catch(() => undefined);
        await Promise.resolve();
        if (!commits) throw new Error('no');
      });
      await transaction.catch(() => undefined);
      gate.open();
      const result = await pending.then(
        () => 'sent',
        (error: unknown) => (error as { code: string }).code,
      );
      expect([result, pushed()]).toEqual(commits ? ['sent', [2, 1]] : ['E_ROLLED_BACK', []]);
    },
  );

  it('is not sent at all if one of its connections cannot take part in a transaction', async () => {
    await expect(events.dispatch(new Shipped(1, 1)).using({})).rejects.toMatchObject({ code: 'E_CAPABILITY' });
    expect(pushed()).toEqual([]);
  });

  it('exists once the transaction that it was sent within is committed', async () => {
    const files = new TemporaryDatabase();
    const handle = new Libsql(files.file);
    const database = { driver: 'database', url: `sqlite:${files.file}` } as const;
    app = watchedApplication({ default: 'main', connections: { main: database } });
    await app.manager.connection().counts('mail');
    for (const end of ['ROLLBACK', 'COMMIT']) {
      handle.exec('BEGIN IMMEDIATE');
      expect(await events.dispatch(new Shipped(1, 1)).using(handle)).toHaveLength(3);
      handle.exec(end);
      const { ready } = await app.manager.connection().counts('mail');
      expect([end, ready]).toEqual([end, end === 'COMMIT' ? 2 : 0]);
    }
    handle.close();
    await app.manager.close();
    await files.dispose();
  });

  it('counts in the figures, and is listed, under the names of its listeners', async () => {
    await events.dispatch(new Shipped(1, 1));
    await new Worker({ queue: ['mail', 'audit'], stopWhenEmpty: true }, app.manager).run();
    const { jobs } = await app.manager.connection().figures();
    expect(jobs.map(({ job, completed }) => [job, completed]).toSorted()).toEqual(
      ORDER.map((job) => [job, 1]).toSorted(),
    );
    expect(listedJobs(app.manager)).toContainEqual(
      expect.objectContaining({ name: 'SendMail', queue: 'mail', tries: 2, handler: 'SendMail' }),
    );
  });

  it('runs at once on a sync connection', async () => {
    await events.dispatch(new Shipped(4, 1)).onConnection('sync');
    expect(notes).toContain('Shipped 4');
  });

  it('is asked about with the dependencies of the container, which are disposed of', async () => {
    class Disposable {
      isOver = false;
      dispose(): void {
        this.isOver = true;
      }
    }
    class Asked {}
    const made: Disposable[] = [];
    @Listens(Asked)
    class _Asks {
      constructor(@Inject(Disposable) readonly given: Disposable) {}
      shouldQueue(_event: Asked, @Inject(Mailer) mailer: Mailer): boolean {
        made.push(this.given);
        notes.push([this.given.isOver, mailer.name]);
        return false;
      }
      handle(_event: Asked): void {}
    }
    expect(await events.dispatch(new Asked())).toEqual([]);
    expect([notes, made.map(({ isOver }) => isOver)]).toEqual([[[false, 'mailer']], [true]]);
    container.clearInstances();
  });
});
