/** Which batches are under way, and which of them have trouble. */
import { type Batch, batchDocument } from '../../dispatch/batch/batch';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { batchButtons, progressBar, progressText, stateBadge } from '../parts/batch';
import { pageLinks, type Tab, tabs } from '../parts/links';
import { ACTIONS, table } from '../parts/table';
import { moment, numberText, troublesOf } from '../parts/text';
import { readEach, type Seen } from '../readings';
import type { Page, PageContext } from '../view';

/** Batches of one page. */
const PAGE = 50;
/** How many of the newest batches are searched for those of a kind: stores list them only by age. */
const MOST = 1000;

const KINDS = {
  all: {
    label: 'All',
    fits: () => true,
    none: html`There are no batches; finished ones are kept for a day.
      <code>await Queue.batch([new Resize('a.png'), new Resize('b.png')]).name('thumbnails').dispatch()</code> creates one.`,
  },
  running: {
    label: 'Under way',
    fits: ({ isFinished, pending }: Batch) => !isFinished || pending > 0,
    none: 'No batch is under way.',
  },
  trouble: {
    label: 'With trouble',
    fits: ({ failed, skipped, isCancelled }: Batch) => failed + skipped > 0 || isCancelled,
    none: 'No batch has trouble: none has failed or skipped jobs, or was cancelled.',
  },
} as const;

type Kind = keyof typeof KINDS;

export const batches: Page = async (context) => {
  const { manager, query } = context;
  const all = manager.connectionNames();
  const keeping = all.filter((name) => manager.driver(name).batches !== undefined);
  const chosen = query.get('connection');
  const names = chosen === null ? keeping : [chosen];
  const given = query.get('show') ?? '';
  const kind = Object.hasOwn(KINDS, given) ? (given as Kind) : 'all';
  const after = Math.max(0, Math.trunc(Number(query.get('after')))) || 0;
  const seen = await readEach(names, (name) => batchesOf(name, kind, after, context));
  return {
    title: 'Batches',
    parts: {
      none: keeping.length === 0 ? none(all) : undefined,
      ...Object.fromEntries(
        seen.map((one) => [`batches-${all.indexOf(one.connection)}`, listOf(one, kind, after, context)]),
      ),
      others:
        chosen !== null && keeping.length > 1
          ? html`<a href="${address('batches')}">Batches of all connections</a>`
          : undefined,
    },
    data: seen.map(({ connection, found, trouble }) => ({
      connection,
      trouble,
      batches: found?.slice(0, PAGE).map(batchDocument),
      after: found?.[PAGE] && after + PAGE,
    })),
  };
};

/** One more than a page, to know whether there are more. */
function batchesOf(
  connection: string,
  kind: Kind,
  after: number,
  { manager, lookout }: PageContext,
): Promise<readonly Batch[]> {
  return lookout.see(`batches ${JSON.stringify([connection, kind, after])}`, async () => {
    if (kind === 'all') return manager.batches.list({ connection, limit: PAGE + 1, offset: after });
    const newest = await manager.batches.list({ connection, limit: MOST });
    return newest.filter(KINDS[kind].fits).slice(after, after + PAGE + 1);
  });
}

function none(connections: readonly string[]): Html {
  return html`<p class="empty">None of the connections keeps batches: ${connections.join(', ')}. Connections with the drivers <code>redis</code>, <code>database</code> and <code>memory</code> do.</p>`;
}

function listOf(seen: Seen<readonly Batch[]>, kind: Kind, after: number, context: PageContext): Html {
  if (seen.found === undefined) return troublesOf([seen]);
  const { connection, found } = seen;
  const shown = found.slice(0, PAGE);
  const place = (show: Kind, from?: number): string =>
    address('batches', { connection, show: show === 'all' ? undefined : show, after: from });
  const kinds = Object.keys(KINDS) as Kind[];
  const tab = (each: Kind): Tab => [KINDS[each].label, place(each), each === kind];
  const links = pageLinks(after > 0 ? place(kind) : undefined, found[PAGE] && place(kind, after + PAGE));
  const listed = table({
    caption: html`Batches of <bdi>${connection}</bdi> <span class="soft">newest first${kind !== 'all' && `, among the newest ${numberText(MOST)}`}</span>`,
    columns: ['Batch', 'State', 'Progress', 'Created', 'Ended', ACTIONS],
    rows: shown.map((batch) => batchRow(batch, context)),
  });
  const none = html`<div class="empty">${after > 0 ? 'There are no more.' : KINDS[kind].none}</div>`;
  return html`${tabs(`Batches of ${connection} by their state`, kinds.map(tab))}${shown.length === 0 ? none : listed}${links}`;
}

function batchRow(batch: Batch, context: PageContext): Html {
  const { id, name, connection, createdAt, finishedAt } = batch;
  const title = name === '' ? html`<bdi class="mono">${id}</bdi>` : html`<bdi>${name}</bdi>`;
  return html`<tr data-key="${id}"><th scope="row"><a href="${address('batch', { connection, id })}">${title}</a></th><td>${stateBadge(batch)}</td>
<td class="busy">${progressText(batch)}${progressBar(batch)}</td><td>${moment(createdAt, context.now)}</td>
<td>${finishedAt === undefined ? html`<span class="soft">–</span>` : moment(finishedAt, context.now)}</td><td class="actions">${batchButtons(batch, context, name || id)}</td></tr>`;
}
