import { Settling } from '../../../src/connections/kit/connection';
import type { RedisCaller } from '../../../src/connections/redis/caller';
import type { CallHead } from '../../../src/connections/redis/link';
import { Keys } from '../../../src/connections/redis/keys';
import type { QueueNames, RedisStore, SilentMasters } from '../../../src/connections/redis/store';
import { SlotExchanger } from '../../../src/connections/redis/cluster';
import { TestClock } from '../../../src/testing/test-clock';

function exchangerOf(script: (name: unknown, keys: readonly string[]) => Promise<unknown>): SlotExchanger {
  const settings = { clock: new TestClock(), deadline: 60 };
  const called = (name: unknown, { keys }: CallHead): Promise<unknown> => script(name, keys);
  const caller = { settings, script: called } as unknown as RedisCaller;
  const ordered = { note: () => undefined, forget: () => undefined } as unknown as QueueNames;
  const masters = { has: () => false, inTime: (_: string, asked: unknown) => asked } as unknown as SilentMasters;
  const keys = new Keys('laravel:queues:', true);
  const cluster = { ordered, masters };
  const store = { caller, keys, names: ordered, cluster } as unknown as RedisStore;
  return new SlotExchanger(store, cluster, new Settling(() => 0));
}

const NOTHING = [Buffer.from('exchanged'), -1, 1];

it('a cluster connection keeps lanes for the last thousand queues only', async () => {
  const clients = new Set<string>();
  const exchanger = exchangerOf((_, [client]) => {
    clients.add(client!);
    return Promise.resolve(NOTHING);
  });
  const ask = (at: number): Promise<unknown> =>
    exchanger.exchange([], { queues: [`queue-${at}`], limit: 1, lease: 60 });
  for (let at = 0; at < 3000; at += 1) await ask(at);
  for (let at = 2999; at >= 0; at -= 1) await ask(at);

  expect(clients.size).toBe(3000 + 2000);
});

it('a lane stays as long as a call of its queue is pending', async () => {
  let answer!: (reply: unknown) => void;
  let calls = 0;
  const exchanger = exchangerOf(() => {
    calls += 1;
    return calls === 1 ? new Promise((resolve) => (answer = resolve)) : Promise.resolve(NOTHING);
  });
  const first = exchanger.exchange([], { queues: ['busy'], limit: 1, lease: 60 });
  for (let at = 0; at < 3000; at += 1) await exchanger.exchange([], { queues: [`queue-${at}`], limit: 1, lease: 60 });
  const second = exchanger.exchange([], { queues: ['busy'], limit: 1, lease: 60 });
  await new Promise(setImmediate);
  // Repeating a call is harmless only if each queue has one call at a time.
  const before = calls;
  answer(NOTHING);
  await Promise.all([first, second]);

  expect([before, calls]).toEqual([3001, 3002]);
});

describe('the orders of a cluster', () => {
  /** The orders in the reply of each queue. */
  let said: Record<string, readonly unknown[]>;
  let exchanger: SlotExchanger;

  beforeEach(() => {
    said = {};
    exchanger = exchangerOf(async (_, [client]) => {
      const [, queue] = /\{(.*)\}/.exec(client!)!;
      const orders = said[queue!];
      return orders === undefined ? NOTHING : [...NOTHING, orders];
    });
  });

  const isPaused = ['paused', [1]] as const;
  const restart = (word: string): readonly unknown[] => ['restart', Buffer.from(word)];

  /** The orders for the queues `of`, after calls to the queues `asked` only. */
  async function hear(asked: readonly string[], of = asked): Promise<object> {
    const ask = async (queues: readonly string[], limit: number) =>
      (await exchanger.exchange([], { queues, limit, lease: 60 })).reply;
    let reply = await ask(asked, 1);
    if (of !== asked) reply = await ask(of, 0);
    const { paused, restart: word } = reply;
    return { ...(paused && { paused }), ...(word !== undefined && { restart: word }) };
  }

  it('are empty if no queue has any', async () => {
    expect(await hear(['a'], ['a', 'b'])).toEqual({});
  });

  it('name the paused queues of a request, even those that this call did not ask', async () => {
    said = { a: isPaused, b: isPaused };
    await hear(['a', 'b']);
    said = { b: isPaused };
    await hear(['a']);

    expect([await hear(['a'], ['a', 'b']), await hear(['a'])]).toEqual([{ paused: ['b'] }, {}]);
  });

  it('include a restart when any queue reports another token than before', async () => {
    said = { a: restart('first'), b: restart('first') };
    const before = await hear(['a', 'b']);
    said = { a: restart('first'), b: restart('second') };

    expect([before, await hear(['b'], ['a', 'b'])]).toEqual([{ restart: 'first' }, { restart: 'second' }]);
  });

  it('include no restart when a queue with another token, or none, is asked for the first time', async () => {
    await hear(['new']);
    said = { old: restart('first') };
    await hear(['old']);

    expect(await hear(['new'], ['new', 'old'])).toEqual({});
  });

  it('include no new restart when a queue has lost its token', async () => {
    said = { a: restart('first') };
    await hear(['a']);
    said = {};

    expect(await hear(['a'])).toEqual({ restart: 'first' });
  });

  it('are remembered for the last thousand queues and for every paused one', async () => {
    said = { old: restart('first'), paused: [...isPaused, ...restart('first')] };
    await hear(['old']);
    await hear(['paused']);
    for (let at = 0; at < 3000; at += 1) {
      said[`queue-${at}`] = restart('first');
      await hear([`queue-${at}`]);
    }
    // For a forgotten queue this is not a new token.
    said['old'] = restart('second');
    await hear(['old']);

    expect(await hear(['queue-2999'], ['paused'])).toEqual({ restart: 'first', paused: ['paused'] });
  });
});
