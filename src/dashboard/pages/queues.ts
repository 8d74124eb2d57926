/** All queues, which a column sorts. */
import { figuresOf } from '../parts/figures';
import { periodIn, rangeLinks } from '../parts/period';
import { queueTables } from '../parts/queue-table';
import { readEach, snapshotOf } from '../readings';
import type { Page } from '../view';

export const queues: Page = async (context) => {
  const names = context.manager.connectionNames();
  const period = periodIn(context.query);
  const all = await readEach(names, names.length === 1, async (name) => ({
    snapshot: await snapshotOf(name, context),
    figures: await figuresOf(name, context, period),
  }));
  const sort = context.query.get('sort') ?? undefined;
  return {
    title: 'Queues',
    parts: { period: rangeLinks('all-queues', { sort }, period), ...queueTables(all, context) },
    data: all.map(({ connection, found, trouble }) => ({ connection, trouble, queues: found?.snapshot.queues })),
  };
};
