/** All queues of each connection, a row each: counts that lead to the jobs, the oldest wait, the rate, and how it went of late. */
import type { Figures } from '../../operations/figures/figures';
import type { QueueSnapshot, Snapshot } from '../../operations/snapshot';
import { address } from '../addresses';
import { hasLateJobs } from '../health';
import { html, type Html } from '../html';
import { readEach, type Seen, snapshotOf } from '../readings';
import type { Page, PageContext } from '../view';
import { sparkline } from '../parts/chart';
import { figuresOf, type Period, periodIn, rangeLinks } from '../parts/figures';
import { actionForm, pausedBadge, queueLink } from '../parts/links';
import { ACTIONS, sortable, table } from '../parts/table';
import { counted, numberText, secondsText, tenths, troublesOf } from '../parts/text';

/** A column sorts them. */
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

export type SeenQueues = Seen<{ readonly snapshot: Snapshot; readonly figures: Figures | undefined }>;

export function readQueues(context: PageContext, period: Period): Promise<readonly SeenQueues[]> {
  return readEach(context.manager.connectionNames(), async (name) => ({
    snapshot: await snapshotOf(name, context),
    figures: await figuresOf(name, context, period),
  }));
}

/** Bars of a queue. */
const BARS = 20;

/** Regions of a page, one for each connection. */
export function queueTables(all: readonly SeenQueues[], context: PageContext): Readonly<Record<string, Html>> {
  return Object.fromEntries(all.map((seen, place) => [`queues-${place}`, queuesOf(seen, context)]));
}

function queuesOf(seen: SeenQueues, context: PageContext): Html {
  if (seen.found === undefined) return troublesOf([seen]);
  const { connection, found } = seen;
  const { queues, otherQueues, isExact } = found.snapshot;
  const { headings, order } = sortable<QueueSnapshot>(
    {
      queue: ['Queue', undefined],
      ready: ['Ready', ({ ready }) => ready],
      delayed: ['Delayed', ({ delayed }) => delayed],
      running: ['Running', ({ running }) => running],
      failed: ['Failed', ({ failed = 0 }) => failed],
      wait: ['Oldest waits', ({ oldestWait = 0 }) => oldestWait],
      rate: ['A minute', ({ rate = 0 }) => rate],
    },
    context,
  );
  const shown = table({
    caption: html`Queues of <bdi>${connection}</bdi>${!isExact && html` <span class="soft">estimated: the store may be minutes behind</span>`}`,
    columns: [...headings, html`<th scope="col"><span class="unseen">Of late</span></th>`, ACTIONS],
    rows: order(queues).map((queue) => queueRow(connection, queue, found.figures, context)),
  });
  return html`${shown}${otherQueues > 0 && html`<p class="soft">${counted(otherQueues, 'more queue')}: use onqueue monitor with their names to see them.</p>`}`;
}

function queueRow(connection: string, row: QueueSnapshot, figures: Figures | undefined, context: PageContext): Html {
  const { queue, ready, delayed, running, failed, failures = 0, oldestWait, rate, isPaused, limit } = row;
  const button = {
    ...(isPaused ? { action: 'resume-queue', label: 'Resume' } : { action: 'pause-queue', label: 'Pause' }),
    fields: { connection, queue },
    subject: queue,
  };
  const link = (state: string, count: number): Html | string =>
    count === 0
      ? html`<span class="soft">0</span>`
      : html`<a href="${address('queue', { connection, queue, state })}">${numberText(count)}</a>`;
  const spans = figures?.queues.find((one) => one.queue === queue)?.spans ?? [];
  const bars = Array.from({ length: spans.length === 0 ? 0 : BARS }, () => 0);
  for (const [place, { completed, failed: lost }] of spans.entries())
    bars[Math.floor((place / spans.length) * BARS)]! += completed + lost;
  return html`<tr data-key="${queue}"><th scope="row">${queueLink({ connection, queue })}${isPaused && html` ${pausedBadge(row, context)}`}${limit !== undefined && html` <span class="badge">at most ${numberText(limit)}</span>`}</th>
<td class="number">${link('ready', ready)}</td><td class="number">${link('delayed', delayed)}</td><td class="number">${link('running', running)}</td>
<td class="number">${failed !== undefined && link('failed', failed)}${failures > 0 && html` <span class="bad" title="Failures in the last five minutes, including jobs that were retried since">${numberText(failures)} in 5 min</span>`}</td>
<td class="number">${oldestWait !== undefined && html`<span class="${hasLateJobs(row) ? 'warn' : ''}">${secondsText(oldestWait)}</span>`}</td>
<td class="number">${rate !== undefined && numberText(tenths(rate))}</td><td>${bars.some((count) => count > 0) && sparkline(bars, 'accent')}</td><td class="actions">${actionForm(button, context)}</td></tr>`;
}
