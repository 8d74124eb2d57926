import { MemoryStore } from '../../../src/connections/memory/store';
import { TestClock } from '../../../src/testing/test-clock';

const payload = Buffer.from('{"job":"probe","data":{},"id":"1","attempts":0}');

it('a memory store remembers the last thousand empty queues, and every queue with a job', () => {
  const store = new MemoryStore('memory', new TestClock());
  store.push('ready', [{ payload }]);
  store.push('delayed', [{ payload, delay: 60 }]);
  store.push('reserved', [{ payload }]);
  store.reserve({ queues: ['reserved'], limit: 1, lease: 60 });
  for (let at = 0; at < 3000; at += 1) {
    store.push(`queue-${at}`, [{ payload }]);
    const { reservations } = store.reserve({ queues: [`queue-${at}`], limit: 1, lease: 60 });
    store.settle(reservations.map((reservation) => ({ outcome: 'completed', reservation })));
  }

  expect(store.queueNames).toHaveLength(1000);
  expect(store.queueNames.slice(0, 3)).toEqual(['ready', 'delayed', 'reserved']);
});
