import { MemoryStore } from '../../../src/connections/memory/store';
import { TestClock } from '../../../src/testing/test-clock';

const payload = Buffer.from('{"job":"probe","data":{},"id":"1","attempts":0}');

it('a memory store remembers the last thousand empty queues, and every queue with a job or with what was set for a lane', () => {
  const store = new MemoryStore('memory', new TestClock());
  store.push('ready', [{ payload }]);
  store.changeLane('limited', 'customer:7', { limit: 2 });
  store.changeLane('stopped', 'customer:7', { paused: true });
  store.limit('limited', 5);
  store.push('delayed', [{ payload, delay: 60 }]);
  store.push('reserved', [{ payload }]);
  store.reserve({ queues: ['reserved'], limit: 1, lease: 60 });
  for (let at = 0; at < 3000; at += 1) {
    store.push(`queue-${at}`, [{ payload }]);
    const { reservations } = store.reserve({ queues: [`queue-${at}`], limit: 1, lease: 60 });
    store.settle(reservations.map((reservation) => ({ outcome: 'completed', reservation })));
  }

  expect(store.queueNames).toHaveLength(1000);
  expect(store.queueNames.slice(0, 5)).toEqual(['ready', 'limited', 'stopped', 'delayed', 'reserved']);
  expect(store.limits).toEqual([{ queue: 'limited', running: 5 }]);
  expect(store.queue('limited').lanes.list().lanes).toMatchObject([{ lane: 'customer:7', running: 2 }]);
  expect(store.queue('stopped').lanes.list().lanes).toMatchObject([{ lane: 'customer:7', paused: true }]);
});

it('a memory store remembers a queue whose lane was limited or paused, and forgets it when that is undone', () => {
  const store = new MemoryStore('memory', new TestClock());
  store.changeLane('once', 'customer:7', { limit: 2 });
  store.changeLane('once', 'customer:7', { limit: undefined });
  for (let at = 0; at < 2000; at += 1) store.changeLane(`queue-${at}`, 'a', { paused: false });

  expect(store.queueNames).not.toContain('once');
});
