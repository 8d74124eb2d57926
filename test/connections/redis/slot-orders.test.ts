import { SlotOrders } from '../../../src/connections/redis/slot-orders';
import type { ReserveReply } from '../../../src/connections/contract';

const said = (word: Partial<ReserveReply>): ReserveReply => ({
  reservations: [],
  setAside: [],
  nextIn: Infinity,
  ...word,
});

describe('the orders of a cluster', () => {
  let orders: SlotOrders;

  beforeEach(() => {
    orders = new SlotOrders();
  });

  it('are none where no queue has any', () => {
    orders.heed('a', said({}));
    expect(orders.of(['a', 'b'])).toEqual({});
  });

  it('name the paused ones of the queues, also those that were not asked this time', () => {
    orders.heed('a', said({ paused: ['a'] }));
    orders.heed('b', said({ paused: ['b'] }));
    orders.heed('a', said({}));
    expect([orders.of(['a', 'b']), orders.of(['a'])]).toEqual([{ paused: ['b'] }, {}]);
  });

  it('are to start anew when any queue says another word than before', () => {
    for (const queue of ['a', 'b']) orders.heed(queue, said({ restart: 'first' }));
    const before = orders.of(['a', 'b']);
    orders.heed('b', said({ restart: 'second' }));
    expect([before, orders.of(['a', 'b'])]).toEqual([{ restart: 'first' }, { restart: 'second' }]);
  });

  it('are no new ones when a queue is asked for the first time that heard another word, or none', () => {
    orders.heed('new', said({}));
    orders.heed('old', said({ restart: 'first' }));
    orders.heed('new', said({}));
    expect(orders.of(['new', 'old'])).toEqual({});
  });

  it('are no new ones when a queue has lost its word', () => {
    orders.heed('a', said({ restart: 'first' }));
    orders.heed('a', said({}));
    expect(orders.of(['a'])).toEqual({ restart: 'first' });
  });

  it('are kept of the last thousand queues, and of each that is paused', () => {
    orders.heed('old', said({ restart: 'first' }));
    orders.heed('paused', said({ restart: 'first', paused: ['paused'] }));
    for (let at = 0; at < 3000; at += 1) orders.heed(`queue-${at}`, said({ restart: 'first' }));
    // To one that is not known any more it is no new word.
    orders.heed('old', said({ restart: 'second' }));

    expect(orders.of(['old', 'paused'])).toEqual({ restart: 'first', paused: ['paused'] });
  });
});
