import type { RedisCaller } from '../../../src/connections/redis/caller';
import { Keys } from '../../../src/connections/redis/keys';
import type { QueueNames } from '../../../src/connections/redis/queue-names';
import type { SilentMasters } from '../../../src/connections/redis/silent-masters';
import { SlotExchanger } from '../../../src/connections/redis/slot-exchanger';
import { TestClock } from '../../../src/testing/test-clock';

const never = Buffer.from('never');

function exchangerOf(script: (name: unknown, keys: readonly string[]) => Promise<unknown>): SlotExchanger {
  const caller = { settings: { clock: new TestClock(), deadline: 5 }, answeredAt: 0, script } as unknown as RedisCaller;
  const ordered = { has: () => true } as unknown as QueueNames;
  const masters = { has: () => false, inTime: (_: string, asked: unknown) => asked } as unknown as SilentMasters;
  return new SlotExchanger(caller, new Keys('laravel:queues:', true), ordered, masters);
}

const NOTHING = [Buffer.from('exchanged'), [], never, 1, []];

it('a cluster keeps a lane for each of the last thousand queues, not for each that there ever was', async () => {
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

it('a lane stays as long as a call of its queue is under way', async () => {
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
  // One call at a time is what makes a repeat harmless.
  const before = calls;
  answer(NOTHING);
  await Promise.all([first, second]);

  expect([before, calls]).toEqual([3001, 3002]);
});
