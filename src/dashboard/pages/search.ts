/** Finds a job by its id, and jobs by a text, a limited number with each request. */
import { JOB_STATES } from '../../operations/found-job';
import type { Snapshot } from '../../operations/snapshot';
import { html, type Html } from '../html';
import { whyUnknown } from '../job/state-text';
import { knownThings, type KnownThings } from '../search/known';
import { knownList, matchList } from '../search/results';
import { scan } from '../search/scan';
import { further, LONGEST_TEXT, wantedIn, type Wanted } from '../search/wanted';
import { snapshotOf, watchedConnections } from '../readings';
import { readEach } from '../troubles';
import type { Page, PageContext } from '../view';

export const search: Page = async (context) => {
  const { manager, query } = context;
  const wanted = wantedIn(query, manager);
  const { seen, troubles } = await look(context, wanted);
  const form = searchForm(wanted, watchedConnections(manager), seen);
  if (wanted.text === '')
    return { title: 'Search', parts: { 'search-form': form, advice: ADVICE, notes: noteList(troubles) }, data: {} };
  // Viewers who search further have already seen these.
  const things = wanted.from === undefined ? await knownThings(context, wanted, seen) : NOTHING_KNOWN;
  const { known } = things;
  const [only] = known;
  if (known.length === 1 && only?.kind === 'job')
    return { title: 'Search', parts: {}, goTo: only.page, data: { known } };
  const found = await scan(context, wanted, seen);
  const { matches, looked, total, next } = found;
  const notes = [
    ...troubles,
    ...found.troubles,
    ...unshown(context, seen),
    ...(MAY_BE_ID.test(wanted.text) ? unsure(things) : []),
  ];
  // Only if everything was searched.
  const isGone = WHOLE_ID.test(wanted.text) && !wanted.connection && !wanted.queue && known.length + notes.length === 0;
  return {
    title: 'Search',
    parts: {
      'search-form': form,
      notes: noteList(notes),
      known: known.length === 0 ? undefined : knownList(known),
      matches: matchList(found, wanted, context.now, isGone ? html`${whyUnknown(manager)}.` : undefined),
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

const NOTHING_KNOWN: KnownThings = { known: [], unsure: [] };

/** The connections that answer, and the troubles of the others. */
async function look(
  context: PageContext,
  { connections, queue }: Wanted,
): Promise<{ readonly seen: readonly Snapshot[]; readonly troubles: readonly string[] }> {
  const all = await readEach(connections, connections.length === 1, async (name) => {
    const seen = await snapshotOf(name, context);
    if (queue === undefined || seen.otherQueues === 0) return seen;
    const { queues } = await snapshotOf(name, context, queue);
    return { ...seen, queues: [...seen.queues.filter((one) => one.queue !== queue), ...queues] };
  });
  return { seen: all.flatMap(({ found }) => found ?? []), troubles: all.flatMap(({ trouble }) => trouble ?? []) };
}

/** Works without scripts. @param watched the names of all connections whose jobs can be searched */
function searchForm(wanted: Wanted, watched: readonly string[], seen: readonly Snapshot[]): Html {
  const { text, connection, queue, state } = wanted;
  const queues = [...new Set(seen.flatMap((snapshot) => snapshot.queues.map((one) => one.queue)))].toSorted();
  const others = seen.reduce((sum, { otherQueues }) => sum + otherQueues, 0);
  return html`<form action="search" class="filter" role="search">
    <label>Text <input type="search" name="text" value="${text}" maxlength="${LONGEST_TEXT}"${text === '' && html` autofocus`} /></label>
    ${(watched.length > 1 || connection !== undefined) && choice('Connection', watched, connection)}
    ${others > 0 ? queueField(queue, queues) : choice('Queue', queues, queue)} ${choice('State', JOB_STATES, state)}
    <button>Search</button>
  </form>`;
}

function choice(label: string, values: readonly string[], chosen: string | undefined): Html {
  const all = chosen === undefined || values.includes(chosen) ? values : [...values, chosen];
  const option = (value: string): Html =>
    html`<option value="${value}"${value === chosen && html` selected`}>${value}</option>`;
  return html`<label>${label} <select name="${label.toLowerCase()}"><option value="">all</option>${all.map(option)}</select></label>`;
}

/** For connections with more queues than are listed. */
function queueField(queue: string | undefined, queues: readonly string[]): Html {
  return html`<label>Queue <input type="text" name="queue" value="${queue ?? ''}" list="queues" placeholder="all" maxlength="255" /></label>
    <datalist id="queues">${queues.map((each) => html`<option value="${each}"></option>`)}</datalist>`;
}

const ADVICE = html`<p class="empty">
  The id of a job leads to the job, wherever it is; the id of a batch to the batch. Any other text is searched for in the data, names
  and errors of jobs that wait, run or have failed, and in the names of queues, schedules, job classes and the newest batches. Case
  does not matter, and masked values are not searched.
</p>`;

function noteList(notes: readonly string[]): Html | undefined {
  return notes.length === 0 ? undefined : html`${notes.map((note) => html`<p class="finding warn">${note}</p>`)}`;
}

/** Notes about jobs that could not be searched. */
function unshown({ manager }: PageContext, seen: readonly Snapshot[]): readonly string[] {
  return seen.flatMap(({ connection, otherQueues, queues }) => {
    const driver = manager.driver(connection);
    const isFailedShown = manager.failed.storeFor(driver) !== undefined;
    const rest = isFailedShown ? 'only failed ones were searched' : 'none were searched';
    return [
      ...(driver.capabilities.peek
        ? []
        : [`The store of '${connection}' cannot list waiting or running jobs: of its jobs ${rest}.`]),
      ...(otherQueues > 0
        ? [`'${connection}' has more than ${queues.length} queues: name one of the others to search it.`]
        : []),
    ];
  });
}

function unsure({ unsure: connections }: KnownThings): readonly string[] {
  return connections.map(
    (name) => `'${name}' has so many jobs that not all were searched for this id. Choose its queue to search further.`,
  );
}
