/**
 * The runs that stores remember, newest first: completed ones for as long as `history.completed` says, others in the histories of
 * their jobs. A run after which a job went back without an error leaves no trace. Nothing is written for it, and one look is bounded.
 */
import type { Application } from '../connections/application';
import type { Milliseconds } from '../base/clock';
import type { RecordStore, StoreRecord } from '../connections/record-store';
import { errorMessage } from '../base/exception-text';
import { redact } from '../base/redact';
import { isStoreAway } from '../connections/errors';
import { isRecord } from '../payload/values';
import { attemptOf, COMPLETED, HISTORY, readHistory, type Attempt, type AttemptOutcome } from './history/attempt';

/** One run of a job. */
export interface KeptRun extends Attempt {
  readonly id: string;
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
}

export interface RunFilter {
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
  readonly name?: string | undefined;
  /** A part of the name of the worker, as `host:pid`. */
  readonly worker?: string | undefined;
  readonly outcome?: AttemptOutcome | undefined;
  /** Runs that took longer. */
  readonly slowerThan?: Milliseconds | undefined;
  readonly from?: Milliseconds | undefined;
  readonly until?: Milliseconds | undefined;
}

export interface RunPage {
  readonly runs: readonly KeptRun[];
  /** How many records of each list were read by now: where the next page begins. Undefined if this was the last one. */
  readonly next: readonly number[] | undefined;
  /** Records that this page looked at. */
  readonly looked: number;
  /** The troubles of stores that could not be reached. */
  readonly away: readonly string[];
}

/** One page looks at this many records and characters at most. */
const MOST_RECORDS = 2000;
const MOST_CHARACTERS = 4 * 1024 * 1024;
/** Records of one call: histories have stacks. */
const AT_ONCE = { [COMPLETED]: 100, [HISTORY]: 25 } as const;

type Kind = keyof typeof AT_ONCE;

/** @param places the `next` of the previous page @throws what the stores throw */
export async function keptRuns(
  application: Application,
  connections: readonly string[],
  filter: RunFilter,
  limit: number,
  places: readonly number[] = [],
): Promise<RunPage> {
  const stores = new Set<RecordStore>();
  for (const name of connections) {
    const records = application.operationsOf(application.driver(name))?.records;
    if (records !== undefined) stores.add(records);
  }
  const lists = [...stores].flatMap((records) => [new List(records, COMPLETED), new List(records, HISTORY)]);
  for (const [place, list] of lists.entries()) list.place = places[place] ?? 0;
  const fits = fitting(filter, new Set(connections));
  // Connections that share a store may each read its records.
  const found = new Map<string, KeptRun>();
  let looked = 0;
  let characters = 0;
  const page = (isEnd: boolean): RunPage => ({
    runs: [...found.values()].toSorted((a, b) => b.at.getTime() - a.at.getTime()),
    next: isEnd ? undefined : lists.map(({ place }) => place),
    looked,
    away: [...new Set(lists.flatMap(({ trouble }) => trouble ?? []))],
  });
  while (found.size < limit && looked < MOST_RECORDS && characters < MOST_CHARACTERS) {
    const heads = await Promise.all(lists.map((list) => list.head()));
    const newest = heads.reduce((best, head, place) => (isNewer(head, heads[best]) ? place : best), 0);
    const head = heads[newest];
    // Each list is sorted: what comes later is older still.
    if (head === undefined || head.at < (filter.from ?? 0)) return page(true);
    lists[newest]!.place += 1;
    looked += 1;
    characters += head.length;
    for (const run of head.runs) if (fits(run)) found.set(`${run.connection} ${run.id} ${run.fence}`, run);
  }
  return page(false);
}

interface Head {
  readonly runs: readonly KeptRun[];
  /** When it was last added to. */
  readonly at: Milliseconds;
  readonly length: number;
}

const isNewer = (one: Head | undefined, other: Head | undefined): boolean =>
  one !== undefined && (other === undefined || one.at > other.at);

/** The records of one kind in one store, newest first. */
class List {
  readonly #records: RecordStore;
  readonly #kind: Kind;
  #page: readonly StoreRecord[] = [];
  #first = 0;
  #head: { readonly place: number; readonly head: Head } | undefined;
  /** Of the record that comes next. */
  place = 0;
  /** Why it cannot be read. */
  trouble: string | undefined;

  constructor(records: RecordStore, kind: Kind) {
    this.#records = records;
    this.#kind = kind;
  }

  /** Undefined at the end. */
  async head(): Promise<Head | undefined> {
    if (this.#head?.place === this.place) return this.#head.head;
    const limit = AT_ONCE[this.#kind];
    const isOver = this.trouble !== undefined || (this.#page.length > 0 && this.#page.length < limit);
    if (this.place >= this.#first + this.#page.length) {
      if (isOver) return undefined;
      this.#page = await this.#read(limit);
      this.#first = this.place;
    }
    const record = this.#page[this.place - this.#first];
    if (record === undefined) return undefined;
    this.#head = { place: this.place, head: headOf(record) };
    return this.#head.head;
  }

  /** One store that cannot be reached must not hide what others remember. */
  async #read(limit: number): Promise<readonly StoreRecord[]> {
    try {
      return await this.#records.list(this.#kind, { limit, offset: this.place });
    } catch (error) {
      if (!isStoreAway(error)) throw error;
      this.trouble = redact(errorMessage(error));
      return [];
    }
  }
}

function headOf({ id, value }: StoreRecord): Head {
  const { name, connection, queue, attempts = [] } = readHistory(value) ?? {};
  const isWhole = typeof name === 'string' && typeof connection === 'string' && typeof queue === 'string';
  // Anybody may have written the text.
  const told = attempts.filter((one) => isRecord(one) && Number.isFinite(one.at));
  const runs = isWhole ? told.map((one) => ({ ...attemptOf(one), id, name, connection, queue })) : [];
  return { runs, at: runs.at(-1)?.at.getTime() ?? Infinity, length: value.length };
}

function fitting(
  { connection, queue, name, worker, outcome, slowerThan, from = 0, until = Infinity }: RunFilter,
  connections: ReadonlySet<string>,
): (run: KeptRun) => boolean {
  return (run) =>
    connections.has(run.connection) &&
    (connection === undefined || run.connection === connection) &&
    (queue === undefined || run.queue === queue) &&
    (name === undefined || run.name === name) &&
    (worker === undefined || run.worker?.includes(worker) === true) &&
    (outcome === undefined || run.outcome === outcome) &&
    (slowerThan === undefined || (run.ms ?? 0) > slowerThan) &&
    run.at.getTime() >= from &&
    run.at.getTime() < until;
}
