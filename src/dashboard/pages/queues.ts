/** All queues, which a column sorts. */
import { periodIn, rangeLinks } from '../parts/period';
import { queueTables, readQueues } from '../parts/queue-table';
import type { Page } from '../view';

export const queues: Page = async (context) => {
  const period = periodIn(context.query);
  const all = await readQueues(context, period);
  const sort = context.query.get('sort') ?? undefined;
  return {
    title: 'Queues',
    parts: { period: rangeLinks('all-queues', { sort }, period), ...queueTables(all, context) },
    data: all.map(({ connection, found, trouble }) => ({ connection, trouble, queues: found?.snapshot.queues })),
  };
};
