/** Moves jobs into and out of the tables of PostgreSQL, with one function call each. */
import type { Seconds } from '../../../base/clock';
import { InvalidPayloadError } from '../../../payload/errors';
import type { DebounceTie } from '../../../payload/ties';
import { uuidv7 } from '../../../payload/uuid';
import type { RenewResult } from '../../contract';
import type { BatchEnd, NewBatch } from '../../batch-store';
import { CallKeys, hasKeys, type CallMark } from '../calls';
import {
  FENCE,
  RESERVED,
  followersOf,
  renewResults,
  jobOf,
  lanesIn,
  lanesOf,
  runningColumn,
  valuesOf,
  type Ending,
  type Exchange,
  type Exchanged,
  type Holders,
  type JobStatements,
  type PushAnswer,
  type QueuedJob,
  type ReservationToken,
  type TakenJob,
  type TiedReservation,
} from '../dialect';
import {
  raw,
  rowsOf,
  run,
  sql,
  valueOf,
  type RowId,
  type Sql,
  type SqlRow,
  type SqlValue,
  type Work,
} from '../statement';
import { storable, textAndBytes, type Identifiers } from './names';
import { SEPARATOR } from './functions';

/** The parameters that all push functions share, after the jobs. */
const PUSHED = '?::text[], ?::text::boolean, ?::text, ?::bigint, ?::bigint[], ?::double precision, ?::text::json';

export class PostgresJobs implements JobStatements {
  readonly #names: Identifiers;

  constructor(names: Identifiers) {
    this.#names = names;
  }

  *push(jobs: readonly QueuedJob[], mark: CallMark | undefined, begins?: NewBatch): Work<PushAnswer> {
    const batch = begins?.id ?? jobs[0]?.batch?.id;
    if (batch !== undefined) return yield* this.#pushBatch(batch, begins, jobs, mark);
    if (hasKeys(jobs)) return yield* this.#pushTied(jobs, mark);
    // Lists are sent as texts: the library behind a user's transaction may not support arrays, or encode a text as JSON
    // again.
    const [row] = yield* rowsOf({
      text: `SELECT ${this.#names.push}(?::text, ?::text, ?::text::json, ${PUSHED})`,
      values: [...(plainJobs(jobs) ?? [null, null, JSON.stringify(jobs.map(pushedJob))]), ...this.#pushed(jobs, mark)],
    });
    const duplicate = row?.[0] ?? null;
    return duplicate === null ? undefined : Number(duplicate);
  }

  *#pushTied(jobs: readonly QueuedJob[], mark: CallMark | undefined): Work<number | Holders | undefined> {
    const keys = new CallKeys(jobs);
    const debounced = jobs.flatMap((job, n) =>
      job.debounce === undefined ? [] : [debouncedJob(job, job.debounce, n)],
    );
    const [row] = yield* rowsOf({
      text: `SELECT ${this.#names.pushTied}(?::text::json, ?::text::json, ?::text[], ${PUSHED})`,
      values: [
        askedJobs(jobs, keys),
        listOf(debounced),
        textArray([...keys.firsts.keys()]),
        ...this.#pushed(jobs, mark),
      ],
    });
    const answer = JSON.parse(String(row?.[0] ?? '{}')) as number | KeysAnswer;
    return typeof answer === 'number' ? answer : holdersIn(answer, keys);
  }

  /** None of the jobs is debounced. */
  *#pushBatch(
    batch: string,
    begins: NewBatch | undefined,
    jobs: readonly QueuedJob[],
    mark: CallMark | undefined,
  ): Work<PushAnswer> {
    const keys = new CallKeys(jobs);
    const weight = jobs.reduce((sum, job) => (job.tie === undefined ? sum + weightOf(job) : sum), 0);
    const [row] = yield* rowsOf({
      text: `SELECT ${this.#names.pushBatch}(
        ?::text, ?::text::json, ?::bigint, ?::bigint[], ?::text::json, ?::text[], ${PUSHED})`,
      values: [
        ...[batch, begun(begins), weight, numberArray([...keys.firsts.values()].map((n) => weightOf(jobs[n]!)))],
        ...[askedJobs(jobs, keys), textArray([...keys.firsts.keys()])],
        ...this.#pushed(jobs, mark, begins),
      ],
    });
    const answer = JSON.parse(String(row![0])) as number | BatchEnd | KeysAnswer;
    return typeof answer === 'object' ? holdersIn(answer, keys) : answer;
  }

  /** The values of `PUSHED`. */
  #pushed(jobs: readonly QueuedJob[], mark: CallMark | undefined, begins?: NewBatch): readonly SqlValue[] {
    const { client, number, unheard }: CallMark = mark ?? { client: '', number: 0, unheard: [] };
    // The queues of a batch's callbacks are remembered now: if that happened when they are sent, two calls could deadlock.
    const queues = [...new Set([...jobs, ...(begins?.callbacks ?? [])].map(({ queue }) => queue))].toSorted();
    const isUnique = jobs.some(({ unique }) => unique);
    const lanes = listOf(lanesOf(lanesIn(jobs)), (move) => ({ ...move, says: true }));
    return [textArray(queues), String(isUnique), client, number, numberArray(unheard), this.#names.offset(), lanes];
  }

  remember(queues: readonly string[]): readonly Sql[] {
    const table = raw(this.#names.queues);
    return queues.map((queue) => sql`INSERT INTO ${table} (name) VALUES (${queue}) ON CONFLICT DO NOTHING`);
  }

  *isWithin(): Work<boolean> {
    // The setting lasts as long as the transaction, which may be that of the statement alone.
    yield* run(raw(`SELECT set_config('onqueue.within', 'yes', true)`));
    return (yield* valueOf(raw(`SELECT current_setting('onqueue.within', true)`))) === 'yes';
  }

  *exchange({ endings, request, mark }: Exchange): Work<Exchanged> {
    const removed = endings.filter(({ kind }) => kind === 'removed');
    const { client, number, unheard } = mark;
    const queues = [...new Set(request?.queues)];
    const rows = yield* rowsOf({
      // The types come from the function's signature: parsing and planning a cast for each parameter takes as long as all
      // the rest.
      text: `SELECT ${this.#names.exchange}(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      values: [
        numberArray(removed.map(({ id }) => id)),
        numberArray(removed.map(({ fence }) => fence)),
        listOf(ofKind(endings, 'released'), releasedRow),
        listOf(ofKind(endings, 'failed'), failedRow),
        listOf(endings.flatMap(followerRows)),
        listOf(changeRows(endings)),
        request === undefined ? null : textArray(queues),
        request?.limit ?? 0,
        request?.lease ?? 0,
        client,
        number,
        numberArray(unheard),
        this.#names.offset(),
        listOf(endings.flatMap(movesBy)),
      ],
    });
    return exchanged(rows, queues);
  }

  *giveUp(given: readonly TiedReservation[]): Work<void> {
    const jobs = raw(this.#names.jobs);
    yield* run(
      sql`UPDATE ${jobs} SET start_key = CASE WHEN unique_until IS NULL THEN unique_key END, unique_key = NULL
       FROM (${this.#held(given, raw('WHERE unique_key IS NOT NULL'))}) AS held WHERE id = held_id`,
    );
  }

  *takeBack(given: readonly TiedReservation[]): Work<void> {
    const ids = numberArray(given.map(({ id }) => id));
    yield* run(sql`SELECT ${raw(this.#names.retake)}(${ids}::bigint[], ${this.#names.now()})`);
  }

  *renew(tokens: readonly ReservationToken[], lease: Seconds): Work<readonly RenewResult[]> {
    const rows = yield* rowsOf(
      sql`UPDATE ${raw(this.#names.jobs)} SET lease_until = ${this.#names.now()} + ${lease}
       FROM (${this.#held(tokens)}) AS held WHERE id = held_id RETURNING id, ${raw(FENCE)}, cancelled`,
    );
    return renewResults(tokens, rows);
  }

  /** Locked in the order of their ids, as calls that end jobs do. In another order the two could deadlock. */
  #held(tokens: readonly ReservationToken[], which = raw('')): Sql {
    const jobs = raw(this.#names.jobs);
    const ids = numberArray(tokens.map(({ id }) => id));
    const fences = numberArray(tokens.map(({ fence }) => fence));
    return sql`SELECT id AS held_id FROM ${jobs} JOIN unnest(${ids}::bigint[], ${fences}::bigint[]) AS token (token_id, fence)
         ON id = token_id AND ${raw(RESERVED)} AND ${raw(FENCE)} = fence ${which} ORDER BY id FOR UPDATE OF ${jobs}`;
  }
}

/** @throws InvalidPayloadError it cannot be stored as text */
function textOf({ payload }: QueuedJob): string {
  const text = String(payload);
  if (text.includes('\0') || (typeof payload !== 'string' && !Buffer.from(text).equals(payload))) {
    throw new InvalidPayloadError('PostgreSQL cannot store it as text: it contains the character NUL, or is not UTF-8');
  }
  return text;
}

/** Ready jobs of one queue, which were never handed out, as two lists; undefined if some job is more than that, or no JSON. */
function plainJobs(jobs: readonly QueuedJob[]): readonly [payloads: string, ids: string, jobs: null] | undefined {
  const [first] = jobs;
  const isPlain = ({ queue, payload, delay, due, unique, lane, counters }: QueuedJob): boolean => {
    const { attempts, crashes, exceptions, timeouts, releases } = counters;
    const counted = attempts + crashes + exceptions + timeouts + releases;
    return (
      queue === first?.queue &&
      lane === undefined &&
      payload.length > 0 &&
      !(delay > 0) &&
      due === undefined &&
      !unique &&
      counted === 0
    );
  };
  if (!jobs.every(isPlain)) return undefined;
  const payloads = jobs.map(textOf);
  const ids = jobs.map(({ uuid }) => uuid);
  if ([...payloads, ...ids].some((text) => text.includes(SEPARATOR) || !text.isWellFormed())) return undefined;
  return [payloads.join(SEPARATOR), storable(ids.join(SEPARATOR)), null];
}

/** A job as the push functions take it. @throws InvalidPayloadError it cannot be stored as text */
function pushedJob(job: QueuedJob, n: number): object {
  const { queue, uuid, delay, due, unique, counters } = job;
  return {
    ...{ queue, payload: textOf(job), uuid: storable(uuid), due },
    ...(delay > 0 && { delay }),
    ...(unique && { n, unique }),
    ...(job.lane && { lane: job.lane.key, running: runningColumn(job.lane) }),
    ...(valuesOf(counters).some((value) => value > 0) && counters),
  };
}

/** The jobs that may be added. */
function askedJobs(jobs: readonly QueuedJob[], keys: CallKeys): string {
  return JSON.stringify(jobs.flatMap((job, n) => (keys.isAsked(job, n) ? [tiedJob(job, n)] : [])));
}

/** The server's answer about the keys, and about debounced jobs. */
interface KeysAnswer {
  /** The ids of the jobs that hold keys, by key. */
  readonly held?: Readonly<Record<string, string>>;
  /** The ids of the debounced jobs that were replaced, by the indexes of the jobs that replaced them. */
  readonly replaced?: Readonly<Record<string, string>>;
}

const holdersIn = ({ held = {}, replaced = {} }: KeysAnswer, keys: CallKeys): Holders | undefined =>
  keys.holders(new Map(Object.entries(held)), Object.entries(replaced));

const weightOf = ({ batch }: QueuedJob): number => batch?.weight ?? 0;

function begun(batch: NewBatch | undefined): string | null {
  if (batch === undefined) return null;
  const { name, allowsFailures, every, openFor, callbacks } = batch;
  const texts = { name: storable(name), callbacks: JSON.stringify(callbacks) };
  return JSON.stringify({ ...texts, allowsFailures, every, openFor });
}

/** A job as the function for unique keys takes it. */
function tiedJob(job: QueuedJob, n: number): object {
  const pushed = pushedJob(job, n);
  if (job.tie === undefined) return pushed;
  const { key, until, for: most } = job.tie;
  return { ...pushed, key, most, ...(until === 'start' && { starts: true }) };
}

/** Debounced jobs of one call are added in the order of their keys, then of their indexes. */
function debouncedJob(job: QueuedJob, { key, longest }: DebounceTie, n: number): object {
  return { ...pushedJob(job, n), n, key, longest };
}

type EndingOf<Kind> = Extract<Ending, { kind: Kind }>;

const ofKind = <Kind extends Ending['kind']>(endings: readonly Ending[], kind: Kind): readonly EndingOf<Kind>[] =>
  endings.filter((ending): ending is EndingOf<Kind> => ending.kind === kind);

function releasedRow({ id, fence, delay, due, front, retakes, counters }: EndingOf<'released'>): object {
  return { ...{ id, fence, delay, due, front }, ...(retakes && { retakes: true }), ...counters };
}

function failedRow({ id, fence, entry }: EndingOf<'failed'>): object {
  const { connection, queue, exception, name, attempts } = entry;
  const { text, bytes } = textAndBytes(entry.payload);
  const texts = { uuid: storable(entry.id), exception: storable(exception), name: storable(name) };
  return { ...texts, connection, queue, payload: text, raw: bytes, attempts, id, fence, own: uuidv7() };
}

/** The followers of an ending, each with the id of the job that it follows. */
const followerRows = (ending: Ending): readonly object[] =>
  followersOf([ending]).map((job, n) => ({ ...pushedJob(job, n), after: ending.id }));

/** The lanes that an ending leaves, and those of its followers. */
const movesBy = (ending: Ending): readonly object[] => [
  ...(ending.lane === undefined ? [] : [{ ...ending.lane, job: ending.id, says: false }]),
  ...lanesIn(followersOf([ending])).map((move) => ({ ...move, job: ending.id, says: true })),
];

/** The changes to batches, each with the id of the job whose end causes it. */
function changeRows(endings: readonly Ending[]): readonly object[] {
  const rows: object[] = [];
  for (const { id: job, leaves } of endings) {
    if (leaves === undefined) continue;
    const { id: batch, change } = leaves;
    rows.push({ ...change, job, batch, ...(change.cause && { cause: JSON.stringify(change.cause) }) });
  }
  return rows;
}

/** NULL for none. */
function listOf<Item>(items: readonly Item[], row?: (item: Item) => object): string | null {
  if (items.length === 0) return null;
  return JSON.stringify(row === undefined ? items : items.map(row));
}

/** A list in PostgreSQL's own notation, which is the same for every client. */
const numberArray = (numbers: readonly (number | RowId)[]): string => `{${numbers.join(',')}}`;

const textArray = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;

interface Outcome {
  readonly next: Seconds | null;
  readonly paused: readonly string[] | null;
  readonly restart: string | null;
  readonly cancelling: boolean | null;
  readonly stuck: readonly string[] | null;
  readonly now: Seconds;
}

/** The ids in an outcome. As JSON, large ones would be rounded. */
const SETTLED = /"settled" : \[([\d,]+)\]/;

/** @param queues the queues of the request */
function exchanged(rows: readonly SqlRow[], queues: readonly string[]): Exchanged {
  const texts = rows.map(([text]) => String(text));
  const end = texts.pop();
  // The call arrived after a later one of its client, and did nothing.
  if (end === undefined) return { settled: new Set(), taken: [], outlook: { nextIn: Infinity } };
  const { next, paused, restart, cancelling, stuck, now } = JSON.parse(end) as Outcome;
  return {
    settled: new Set(SETTLED.exec(end)?.[1]?.split(',')),
    taken: texts.map((text) => takenJob(text, queues)),
    ...(cancelling === true && { isCancelling: true }),
    outlook: {
      nextIn: next ?? Infinity,
      now: now * 1000,
      ...(paused !== null && { paused }),
      ...(restart !== null && { restart }),
      ...(stuck !== null && { stuck }),
    },
  };
}

/**
 * The fields that `taking` writes for a job, separated by spaces: `id`, the counters, `cancelled`, the number of the queue.
 * Then the payload.
 */
const FIELDS = 8;

function takenJob(text: string, queues: readonly string[]): TakenJob {
  const fields = text.split(' ', FIELDS);
  const payload = text.slice(fields.join(' ').length + 1);
  return { ...jobOf([fields[0], payload, ...fields.slice(1, 7)]), queue: queues[Number(fields[7]) - 1]! };
}
