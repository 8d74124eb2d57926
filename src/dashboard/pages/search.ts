/** Finds a job by its id, other things by their names, and jobs by a text, a limited number with each request. */
import { failedStoreOf } from '../../connections/application';
import type { Milliseconds } from '../../base/clock';
import { isStoreAway } from '../../connections/errors';
import type { Batch } from '../../dispatch/batch/batch';
import { type FoundJob, JOB_STATES } from '../../operations/found-job';
import type { ListedJob } from '../../operations/listed-job';
import type { Snapshot } from '../../operations/snapshot';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { whyUnknown } from '../job/state';
import { filterForm } from '../parts/filter';
import { jobLink } from '../parts/links';
import { table } from '../parts/table';
import { capitalised, counted, moment, numberText } from '../parts/text';
import { isIncapable, readEach, readOr, schedulesOf, snapshotOf } from '../readings';
import { further, type Match, Pattern, scan, type Scan, type Wanted, wantedIn } from '../scan';
import type { Page, PageContext } from '../view';

export const search: Page = async (context) => {
  const { manager, query } = context;
  const wanted = wantedIn(query, manager);
  const { seen, troubles } = await look(context, wanted);
  const form = searchForm(wanted, manager.connectionNames(), seen);
  if (wanted.text === '')
    return { title: 'Search', parts: { 'search-form': form, advice: ADVICE, notes: noteList(troubles) }, data: {} };
  // Viewers who search further have already seen these.
  const { known, unsure } =
    wanted.from === undefined ? await knownThings(context, wanted, seen) : { known: [], unsure: [] };
  const [only] = known;
  if (known.length === 1 && only?.kind === 'job')
    return { title: 'Search', parts: {}, goTo: only.page, data: { known } };
  const found = await scan(context, wanted, seen);
  const { matches, looked, total, next } = found;
  const notes = [
    ...troubles,
    ...found.troubles,
    ...unshown(context, seen),
    ...(MAY_BE_ID.test(wanted.text) ? unsure : []).map(
      (name) =>
        `'${name}' has so many jobs that not all were searched for this id. Choose its queue to search further.`,
    ),
  ];
  // Only if everything was searched.
  const isGone = WHOLE_ID.test(wanted.text) && !wanted.connection && !wanted.queue && known.length + notes.length === 0;
  return {
    title: 'Search',
    parts: {
      'search-form': form,
      notes: noteList(notes),
      known: known.length === 0 ? undefined : knownList(known),
      matches: html`${matches.length > 0 ? matchTable(matches, wanted.text, context.now) : nothing(found, wanted, isGone ? html`${whyUnknown(manager)}.` : undefined)}${extent(found, wanted)}`,
    },
    data: {
      known,
      jobs: matches.map(({ job }) => job),
      looked,
      total,
      next: next && further(wanted, next),
      notes,
    },
  };
};

/** A word is also looked up as an id, but need not be reported as an unknown one. */
const MAY_BE_ID = /^(?=\D*\d)\S{8,}$/;

/** The id of a job: a UUID, or the form that Laravel uses for Redis. */
const WHOLE_ID = /^([\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}|[\da-z]{32})$/i;

/** The connections that answer, and the troubles of the others. */
async function look(
  context: PageContext,
  { connections, queue }: Wanted,
): Promise<{ readonly seen: readonly Snapshot[]; readonly troubles: readonly string[] }> {
  const all = await readEach(connections, async (name) => {
    const seen = await snapshotOf(name, context);
    if (queue === undefined || seen.otherQueues === 0) return seen;
    const { queues } = await snapshotOf(name, context, queue);
    return { ...seen, queues: [...seen.queues.filter((one) => one.queue !== queue), ...queues] };
  });
  return { seen: all.flatMap(({ found }) => found ?? []), troubles: all.flatMap(({ trouble }) => trouble ?? []) };
}

/** @param watched the names of all connections whose jobs can be searched */
function searchForm(
  { text, connection, queue, state }: Wanted,
  watched: readonly string[],
  seen: readonly Snapshot[],
): Html {
  const queues = [...new Set(seen.flatMap((snapshot) => snapshot.queues.map((one) => one.queue)))].toSorted();
  const hasOthers = seen.some(({ otherQueues }) => otherQueues > 0);
  const among = (label: string, all: readonly string[], chosen: string | undefined) => {
    const values = [...new Set([...all, ...(chosen === undefined ? [] : [chosen])])];
    return { label, values: [['', 'all'] as const, ...values.map((value) => [value, value] as const)] };
  };
  const fields = {
    text: 'Text',
    ...((watched.length > 1 || connection !== undefined) && { connection: among('Connection', watched, connection) }),
    // More than are listed.
    queue: hasOthers ? { label: 'Queue', hint: 'all' } : among('Queue', queues, queue),
    state: among('State', JOB_STATES, state),
  };
  return filterForm('search', { text: text || undefined, connection, queue, state }, fields);
}

const ADVICE = html`<p class="empty">
  The id of a job leads to the job, wherever it is; the id of a batch to the batch. Any other text is searched for in the data, names
  and errors of jobs that wait, run or have failed, and in the names of queues, schedules, job classes and the newest batches. Case
  does not matter, and masked values are not searched.
</p>`;

const noteList = (notes: readonly string[]): Html | undefined =>
  notes.length === 0 ? undefined : html`${notes.map((note) => html`<p class="finding warn">${note}</p>`)}`;

/** Notes about jobs that could not be searched. */
function unshown({ manager }: PageContext, seen: readonly Snapshot[]): readonly string[] {
  return seen.flatMap(({ connection, otherQueues, queues }) => {
    const driver = manager.driver(connection);
    const isFailedShown = failedStoreOf(driver, manager) !== undefined;
    const rest = isFailedShown ? 'only failed ones were searched' : 'none were searched';
    return [
      ...(driver.queues.peek
        ? []
        : [`The store of '${connection}' cannot list waiting or running jobs: of its jobs ${rest}.`]),
      ...(otherQueues > 0
        ? [`'${connection}' has more than ${queues.length} queues: name one of the others to search it.`]
        : []),
    ];
  });
}

/** Names that are shown. */
const MOST_KNOWN = 12;

/** What was found, how much was searched, and what to do if nothing was found. */
function knownList(known: readonly Known[]): Html {
  const rest = known.length - MOST_KNOWN;
  const one = ({ kind, name, connection, state, page }: Known): Html =>
    html`<li>${capitalised(kind)} <a href="${page}"><bdi>${name}</bdi></a>${connection !== undefined && html` <span class="soft">on <bdi>${connection}</bdi></span>`}${state !== undefined && html` <span class="badge">${state}</span>`}</li>`;
  return html`<h2>By id or name</h2><ul class="names">${known.slice(0, MOST_KNOWN).map(one)}${rest > 0 && html`<li class="soft">and ${numberText(rest)} more</li>`}</ul>`;
}

function matchTable(matches: readonly Match[], text: string, now: Milliseconds): Html {
  const pattern = new Pattern(text);
  return table({
    caption: html`${counted(matches.length, 'job')} with “<bdi>${text}</bdi>”`,
    columns: ['Job', 'Where', 'Queue', 'State', 'When'],
    rows: matches.map((match) => matchRow(match, pattern, now)),
  });
}

function matchRow({ job, excerpt }: Match, pattern: Pattern, now: Milliseconds): Html {
  const { id, name, connection, queue, state } = job;
  return html`<tr><th scope="row">${jobLink(job, pattern.marked(name))}<br><span class="soft mono">${id !== undefined && pattern.marked(id)}</span></th>
<td class="excerpt">${excerpt}</td><td><a href="${address('queue', { connection, queue, state })}"><bdi>${queue}</bdi></a></td><td><span class="badge ${state === 'failed' ? 'bad' : ''}">${state}</span></td><td class="when">${whenOf(job, now)}</td></tr>`;
}

function whenOf({ state, at, failedAt, createdAt }: ListedJob, now: Milliseconds): Html | undefined {
  if (state === 'failed') return failedAt && moment(failedAt, now);
  if (state === 'delayed') return at && html`ready ${moment(at, now)}`;
  return createdAt && html`dispatched ${moment(createdAt, now)}`;
}

/** @param whyNone what it may mean that nothing is known of this text */
function nothing({ next }: Scan, { text, from }: Wanted, whyNone: Html | undefined): Html {
  const quoted = html`“<bdi>${text}</bdi>”`;
  if (next !== undefined)
    return html`<p class="empty">None of these jobs has ${quoted} in its data, its name, its id or its error.</p>`;
  if (from !== undefined) return html`<p class="empty">There are no more jobs with ${quoted}.</p>`;
  const rest = html`Try a shorter text, or all queues and states. Completed jobs are only found by their whole id, and masked values
    are not searched.`;
  return html`<p class="empty">
    No waiting, running or failed job has ${quoted} in its data, its name, its id or its error. ${whyNone ?? rest}
  </p>`;
}

function extent(scan: Scan, wanted: Wanted): Html {
  const { looked, total, next } = scan;
  if (next === undefined) return html`<p class="pages">Searched all ${counted(looked, 'job')}.</p>`;
  const before = wanted.from?.looked ?? 0;
  return html`<p class="pages"><span>Searched ${numberText(looked)} of ${counted(total, 'job')}${before > 0 && html`, here the last ${numberText(looked - before)} of these`}.</span> <a href="${further(wanted, next)}" rel="next">Search further</a></p>`;
}

/** Things with exactly this id, or with this text in their name: found without searching all jobs. */
interface Known {
  readonly kind: 'job' | 'batch' | 'queue' | 'schedule' | 'class';
  /** The id of a job, or of a batch without a name. */
  readonly name: string;
  readonly connection?: string | undefined;
  readonly state?: FoundJob['state'] | undefined;
  readonly page: string;
}

interface KnownThings {
  readonly known: readonly Known[];
  /** Connections with so many jobs that not all were searched for the id. */
  readonly unsure: readonly string[];
}

/** How many batches' names are searched. */
const NEWEST = 100;

/** What an id may look like; other texts are not looked up. */
const ID = /^[^\s\p{Cc}]{1,300}$/u;

/** @param seen the snapshots of the connections that answer */
async function knownThings(
  context: PageContext,
  { text, queue }: Wanted,
  seen: readonly Snapshot[],
): Promise<KnownThings> {
  const connections = seen.map(({ connection }) => connection);
  const jobOf = (name: string): Promise<FoundJob | undefined> =>
    readOr(() => context.manager.connection(name).find(text, { queue }), undefined, isStoreAway, isIncapable);
  const jobs = ID.test(text) ? await Promise.all(connections.map(jobOf)) : [];
  const found = jobs.filter((job) => job !== undefined);
  const pattern = new Pattern(text);
  const batches = await Promise.all(connections.map((name) => batchesOf(context, name, text, pattern)));
  const unsure = found.filter((job) => !job.isSure).map(({ connection }) => connection);
  return {
    known: [...found.flatMap(knownJob), ...batches.flat(), ...(await named(context, pattern, seen))],
    unsure,
  };
}

/** Records of a job may be kept even if the job is gone. */
function knownJob({ id, connection, queue, state, history }: FoundJob): readonly Known[] {
  if (state === 'unknown' && history.length === 0) return [];
  return [{ kind: 'job', name: id, connection, state, page: address('job', { connection, queue, id }) }];
}

function batchesOf(
  { manager }: PageContext,
  connection: string,
  text: string,
  pattern: Pattern,
): Promise<readonly Known[]> {
  const known = ({ id, name }: Batch): Known => {
    return { kind: 'batch', name: name || id, connection, page: address('batch', { connection, id }) };
  };
  const read = async (): Promise<readonly Known[]> => {
    const batch = ID.test(text) ? await manager.batches.get(text, { connection }) : undefined;
    if (batch !== undefined) return [known(batch)];
    const newest = await manager.batches.list({ connection, limit: NEWEST });
    return newest.filter(({ name }) => pattern.isIn(name)).map(known);
  };
  return readOr(read, [], isStoreAway, isIncapable);
}

async function named(context: PageContext, pattern: Pattern, seen: readonly Snapshot[]): Promise<readonly Known[]> {
  const queues = seen.flatMap(({ connection, queues: all }) => all.map(({ queue }) => ({ connection, queue })));
  const all: readonly Known[] = [
    ...queues.map((at): Known => ({ ...at, kind: 'queue', name: at.queue, page: address('queue', at) })),
    ...context.manager.registry
      .all()
      .map(({ name }): Known => ({ kind: 'class', name, page: address('job-class', { name }) })),
    ...(await schedulesOf(context)).map(({ name }): Known => ({ kind: 'schedule', name, page: address('schedules') })),
  ];
  return all.filter(({ name }) => pattern.isIn(name));
}
