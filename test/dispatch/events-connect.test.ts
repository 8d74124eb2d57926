/** What emitters emit becomes events for listeners. */
import { EventEmitter } from 'node:events';
import { EventEmitter2 } from 'eventemitter2';
import { Events, Listens, Queue } from 'onqueue';
import type { FakeQueue } from 'onqueue/testing';

class Returned {
  constructor(readonly order: number) {}
}

class Shipped extends Returned {
  constructor(
    order: number,
    readonly total: number,
  ) {
    super(order);
  }
}
Events.register({ Shipped });

class Unheard {}

/** What listeners heard, in order. */
const notes: string[] = [];

@Listens(Returned, { queue: 'audit' })
class _Audit {
  handle(event: Returned): void {
    notes.push(`${event.constructor.name} ${event.order}`);
  }
}

describe('Events.connect()', () => {
  let queue: FakeQueue;
  const errors: string[] = [];

  beforeEach(() => {
    queue = Queue.fake();
    errors.length = 0;
    notes.length = 0;
    Queue.onError((error) => errors.push((error as Error).message));
  });
  afterEach(() => queue.restore());

  it('dispatches what an emitter emits, until it is disconnected', async () => {
    const emitter = new EventEmitter();
    const stop = Events.connect(emitter, { 'order.shipped': Shipped, 'order.returned': Returned });
    emitter.emit('order.shipped', new Shipped(1, 1));
    emitter.emit('order.returned', { order: 2 });
    await queue.drain({ queue: 'audit' });
    expect(notes.toSorted()).toEqual(['Returned 2', 'Shipped 1']);
    stop();
    expect([emitter.listenerCount('order.shipped'), emitter.listenerCount('order.returned')]).toEqual([0, 0]);
  });

  it('dispatches what an EventEmitter2 emits under any name that fits, until it is disconnected', async () => {
    const emitter = new EventEmitter2({ wildcard: true });
    const stop = Events.connect(emitter, { 'order.*': Returned });
    emitter.emit('order.returned', { order: 2 });
    emitter.emit('order.lost', new Returned(3));
    stop();
    emitter.emit('order.returned', { order: 4 });
    await queue.drain({ queue: 'audit' });
    expect(notes.toSorted()).toEqual(['Returned 2', 'Returned 3']);
  });

  it('dispatches the detail of what an EventTarget dispatches', async () => {
    const target = new EventTarget();
    const stop = Events.connect(target, { shipped: Shipped });
    const dispatched = (): boolean => target.dispatchEvent(new CustomEvent('shipped', { detail: new Shipped(5, 1) }));
    dispatched();
    stop();
    dispatched();
    await queue.drain({ queue: 'audit' });
    expect(notes).toEqual(['Shipped 5']);
  });

  it('reports what is no such event, and leaves the emitter alone', async () => {
    const emitter = new EventEmitter();
    Events.connect(emitter, { shipped: Shipped });
    for (const value of [undefined, 'x', [1], new Unheard()]) expect(emitter.emit('shipped', value)).toBe(true);
    await queue.drain();
    expect(errors).toEqual(
      ['undefined', 'A plain string', 'This Array', 'This Unheard'].map(
        (what) =>
          `${what} cannot be sent to listeners. Emit 'shipped' with an instance of Shipped, or with an object that has its data.`,
      ),
    );
    queue.assertNothingPushed();
  });

  it('refuses what is no emitter, and an event that is no class', () => {
    expect(() => Events.connect({} as never, { shipped: Shipped })).toThrow(
      'A plain object cannot be sent to listeners. Events.connect() takes an EventEmitter, an EventEmitter2 or an EventTarget.',
    );
    expect(() => Events.connect(undefined as never, {})).toThrow('Events.connect() takes an EventEmitter');
    expect(() => Events.connect(new EventEmitter(), { shipped: undefined as never })).toThrow(
      "undefined cannot be sent to listeners. Events.connect(), 'shipped': the event is not a class.",
    );
  });
});
