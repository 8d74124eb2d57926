/** The newest failed jobs, read in bounded steps, and why they failed: a row for each group of errors, and what can be done about it. */
import { type ErrorGroup, errorGroups } from '../../application/failed/error-groups';
import type { FailedJob } from '../../application/failed/failed-filter';
import { failedPage, type FailedPlaces } from '../../application/failed/failed-stores';
import type { Milliseconds } from '../../base/clock';
import { redact } from '../../base/redact';
import { address, listIn } from '../addresses';
import { html, type Html, type Shown } from '../html';
import { Budget } from '../readings';
import type { PageContext } from '../view';
import { countsOf, sparkline } from './chart';
import type { Choice } from './filter';
import { actionMenu, classLink, failureButtons } from './links';
import { ACTIONS, numberColumn, table } from './table';
import { counted, errorLine, moment, numberText, someOf } from './text';

const MOST_AT_ONCE = 500;
const HOUR: Milliseconds = 3_600_000;
/** How long the look of the first page stays fresh: it may read megabytes, and the page is updated every few seconds. */
const FRESH: Milliseconds = 10_000;

/** Where a look begins. */
export interface FailedStart {
  /** How many jobs come before it. */
  readonly seen: number;
  readonly places: FailedPlaces;
}

const NEWEST: FailedStart = { seen: 0, places: new Map() };

export interface FailedLook {
  readonly jobs: readonly FailedJob[];
  /** For each of them, where the list goes on behind it. */
  readonly places: readonly FailedPlaces[];
  /** Whether there are more jobs after the last one. */
  readonly isCut: boolean;
  /** How many there are in total. Undefined if some stores could not be reached. */
  readonly total: number | undefined;
  /** The troubles of connections that could not be reached. */
  readonly away: readonly string[];
}

/** @param fresh how long the look may be reused */
export function lookAtFailed(
  { manager, lookout }: PageContext,
  queue?: string,
  from = NEWEST,
  fresh?: Milliseconds,
): Promise<FailedLook> {
  const look = async (): Promise<FailedLook> => {
    const away = new Map<string, string>();
    // Concurrently, so that an unreachable store is waited for only once; the look itself reports it.
    const counting = manager.failed.kept(queue).catch(() => undefined);
    const jobs: FailedJob[] = [];
    const places: FailedPlaces[] = [];
    const budget = new Budget(MOST_AT_ONCE);
    let isEnd = false;
    for (let limit = budget.next; !isEnd && limit > 0; limit = budget.next) {
      const page = await failedPage(manager, { queue, limit, after: places.at(-1) ?? from.places });
      for (const { connection, error } of page.away)
        away.set(connection, `The failed jobs of ${connection} are missing here: ${redact(error.message)}`);
      for (const one of page.jobs) {
        jobs.push(one.job);
        places.push(one.places);
        budget.spend(one.job.payload.length + one.job.exception.length);
      }
      // A store may omit jobs that disappear while it is read, so only an empty page is the end. An unreachable store is not
      // asked again.
      isEnd = page.jobs.length === 0 || (page.jobs.length < limit && away.size > 0);
    }
    const total = await counting;
    const isCut = !isEnd && from.seen + jobs.length < (total ?? Infinity);
    return { jobs, places, isCut, total, away: [...away.values()] };
  };
  return lookout.see(JSON.stringify(['failed', startText(from), queue]), look, fresh);
}

/** A start as the field of an address. */
export const startText = ({ seen, places }: FailedStart): string => JSON.stringify([seen, ...places]);

/** Anybody can write an address: whatever is no start means the newest. */
export function startIn(text: string | null): FailedStart {
  const [seen, ...places] = listIn(text ?? '');
  const isPlace = (one: unknown): one is [string, string] =>
    Array.isArray(one) && one.length === 2 && one.every((part) => typeof part === 'string');
  if (!Number.isSafeInteger(seen) || Number(seen) <= 0 || !places.every(isPlace)) return NEWEST;
  return { seen: Number(seen), places: new Map(places) };
}

export interface RecentFailures extends Pick<FailedLook, 'isCut' | 'away'> {
  /** How many jobs failed within the hour, as far as was looked. */
  readonly count: number;
  readonly groups: readonly ErrorGroup[];
}

export async function recentFailures(context: PageContext): Promise<RecentFailures> {
  const { jobs, isCut, away } = await lookAtFailed(context, undefined, NEWEST, FRESH);
  const recent = jobs.filter(({ failedAt }) => failedAt.getTime() >= context.now - HOUR);
  return { count: recent.length, isCut: isCut && recent.length === jobs.length, groups: errorGroups(recent), away };
}

const RECENT: Milliseconds = 5 * 60_000;

interface Options {
  /** What else the jobs were chosen by. */
  readonly choice?: Choice;
  /** How many groups are shown. */
  readonly most?: number;
}

export function failureTable(
  caption: Shown,
  groups: readonly ErrorGroup[],
  context: PageContext,
  { choice = {}, most = 8 }: Options = {},
): Html {
  const rest = groups.length - most;
  const shown = table({
    caption,
    columns: [
      numberColumn('5 min'),
      numberColumn('All'),
      'Job',
      'Error',
      html`<th scope="col"><span class="unseen">Within the hour</span></th>`,
      'Last',
      'First',
      ACTIONS,
    ],
    rows: groups.slice(0, most).map((group) => groupRow(group, choice, context)),
  });
  return html`${shown}${rest > 0 && html`<p><a href="${address('failed', choice)}">${counted(rest, 'smaller group')}</a></p>`}`;
}

function groupRow(group: ErrorGroup, choice: Choice, context: PageContext): Html {
  const { name, error, count, newest, oldest, moments, queues } = group;
  const { now } = context;
  const lately = moments.filter((at) => at >= now - RECENT).length;
  const shown = someOf(queues, 3, (queue) => html`<bdi>${queue}</bdi>`, 'queue');
  return html`<tr data-key="${JSON.stringify([name, error])}"><td class="number">${lately > 0 ? html`<strong class="bad">${numberText(lately)}</strong>` : html`<span class="soft">0</span>`}</td>
<td class="number"><strong>${numberText(count)}</strong></td>
<th scope="row">${classLink(newest)} <span class="soft">in ${shown}</span></th>
<td class="line message"><a href="${address('failed', { ...choice, name, group: error })}"><bdi>${errorLine(newest.exception)}</bdi></a></td>
<td>${sparkline(countsOf(moments, now - HOUR, RECENT, HOUR / RECENT), 'bad')}</td>
<td class="when">${moment(newest.failedAt, now)}</td><td class="when">${count > 1 && moment(oldest.failedAt, now)}</td>
<td class="actions">${actionMenu(groupButtons(group, choice, context), `${name}: ${error}`)}</td></tr>`;
}

/** Nothing if a form cannot describe the group: it would choose other jobs too. */
function groupButtons(
  { name, error }: ErrorGroup,
  choice: Choice,
  context: PageContext,
): readonly (Html | undefined)[] {
  if (error === '' || name === '' || name !== name.trim()) return [];
  const fields = { ...choice, name, group: error, all: 'yes' };
  return failureButtons('failed', { fields, subject: `${name}: ${error}` }, context);
}
