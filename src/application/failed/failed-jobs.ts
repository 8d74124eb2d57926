/** The failed jobs of all connections that keep them: `Queue.failed`. */
import { checkRetriedSize } from '../../dispatch/payload-limit';
import type { Application } from '../../connections/application';
import { timeOf, type Milliseconds } from '../../base/clock';
import { groupsOf } from '../../base/collections';
import { errorMessage } from '../../base/exception-text';
import type { Buried } from '../../connections/contract';
import type { FailedEntry } from '../../connections/failed-store';
import { durationSeconds } from '../../job/duration';
import { keptCheckpoints } from '../../job/resolve-options';
import { invalidJobId } from '../../dispatch/errors';
import { readTies, overlapKey, placeOfMembers, withoutUniqueKey } from '../../payload/ties';
import { dropCheckpoints, forgetCheckpoints } from '../../operations/checkpoints';
import { forgetCompleted } from '../../operations/history/attempt';
import { Lock } from '../lock';
import {
  ambiguousFailedJob,
  failedJobsOutOfReach,
  invalidFailedFilter,
  retryIncomplete,
  uniqueHeld,
  type LeftBehind,
} from './errors';
import {
  failedJobOf,
  checkCounts,
  checkFilter,
  isEmpty,
  keptFilter,
  type FailedJob,
  type FailedFilter,
  type KeptFilter,
} from './failed-filter';
import {
  beyond,
  distinct,
  keepers,
  KnownJobs,
  newestFirst,
  sharesStores,
  sweep,
  thatFit,
  visitStores,
  type FoundEntry,
  type OpenStore,
  type Sweep,
} from './failed-stores';
import { afterRetry, countersIn, fenceOf, readCounters, withCounters, withRetryMark } from '../../payload/counters';
import { envelopeIn, type Envelope } from '../../payload/envelope';

/** Where a job failed. Together with its id, this identifies it. */
export type FailedPlace = Pick<FailedFilter, 'queue' | 'connection'>;

export interface RetryOptions {
  /** Whether the job begins again with its first step, if its class keeps steps and cursors. Default: it goes on where it was. */
  readonly fromStart?: boolean | undefined;
}

export interface FailedListOptions extends FailedFilter {
  /** Default 100. */
  readonly limit?: number | undefined;
  /** How many matching jobs to skip. Default 0. */
  readonly offset?: number | undefined;
  /** Called for each connection that could not be read, instead of writing a log line. */
  readonly unreachable?: ((connection: string, error: Error) => void) | undefined;
}

const DEFAULT_LIMIT = 100;
/** Seconds that sending a job back to another connection may take; then another process may try. */
const RETRY_LOCK = 60;

export class FailedJobs {
  readonly #sources: Application;

  constructor(sources: Application) {
    this.#sources = sources;
  }

  /**
   * Failed jobs, newest first, of all connections that can be reached.
   *
   * @throws E_FAILED_FILTER; the first connection's error, if none could be reached
   */
  async list(options: FailedListOptions = {}): Promise<FailedJob[]> {
    const { limit = DEFAULT_LIMIT, offset = 0, unreachable, ...filter } = options;
    if (!isEmpty(filter)) checkFilter(filter, 'failed.list()');
    checkCounts({ limit, offset }, 'failed.list()');
    const tell = unreachable ?? ((connection, error) => this.#logUnreachable(connection, error));
    const lists: FoundEntry[][] = [];
    // With a single store, that store can skip the offset itself. With several, it depends on what the others have.
    const { queue: _queue, ...rest } = filter;
    const skipped = isEmpty(rest) && keepers(this.#sources).length === 1 ? offset : 0;
    const count = skipped > 0 ? limit : offset + limit;
    const away = await visitStores(this.#sources, async (open) => {
      lists.push((await this.#newest(open, filter, count, skipped)).map((entry) => ({ open, entry })));
    });
    for (const { connection, error } of away) tell(connection, error);
    return distinct([...newestFirst(lists)])
      .slice(offset - skipped, offset - skipped + limit)
      .map(({ entry }) => failedJobOf(entry));
  }

  /**
   * How many failed jobs the stores keep, of all queues or of one, without reading them. Jobs of a store that two connections
   * share count twice.
   */
  async kept(queue?: string): Promise<number> {
    let count = 0;
    const away = await visitStores(this.#sources, async ({ store }) => void (count += await store.count(queue)));
    if (away[0] !== undefined) throw away[0].error;
    return count;
  }

  /**
   * How many failed jobs there are, or how many match: as many as `retry` and `forget` would take. Reads them, unless all or
   * those of a queue are counted.
   *
   * @throws E_FAILED_FILTER
   * @throws E_FAILED_JOBS_OUT_OF_REACH not all connections could be reached; `facts.done` is the count of the others
   */
  async count(filter: FailedFilter = {}): Promise<number> {
    if (!isEmpty(filter)) checkFilter(filter, 'failed.count()');
    return this.#count(filter, 0, async () => undefined);
  }

  /** Those of each store but the newest `keep`, and those that `goes` selects. */
  async #count(filter: FailedFilter, keep: number, goes: (open: OpenStore) => Promise<Sweep['goes']>): Promise<number> {
    const { queue, ...rest } = filter;
    const isPlain = isEmpty(rest) && !sharesStores(this.#sources);
    const known = new KnownJobs();
    let count = 0;
    const away = await visitStores(this.#sources, async (open) => {
      const selected = await goes(open);
      if (isPlain && selected === undefined) {
        count += Math.max(0, (await open.store.count(queue)) - keep);
        return;
      }
      const isChosen = beyond(keep, selected);
      for await (const entry of thatFit(open, await this.#kept(open, filter)))
        if (isChosen(entry) && known.isNew({ open, entry })) count += 1;
    });
    const done = `${count} failed ${count === 1 ? 'job was' : 'jobs were'} found`;
    if (away.length > 0) throw failedJobsOutOfReach(done, count, away);
    return count;
  }

  /**
   * @param place where it failed; needed if jobs with this id failed on several queues or connections
   * @throws E_AMBIGUOUS_FAILED_JOB several jobs have this id, and `place` does not choose one of them
   * @throws E_FAILED_JOBS_OUT_OF_REACH it was not found, and not all connections could be reached
   */
  async get(id: string, place: FailedPlace = {}): Promise<FailedJob | undefined> {
    const found = await this.#find(id, place);
    return found === undefined ? undefined : failedJobOf(found.entry);
  }

  /**
   * Sends a failed job back to its queue, with all its tries. Or all jobs that have failed until now (`'all'`), or all that match
   * a filter: `retry({ queue: 'mail', error: 'ECONNREFUSED' })`.
   *
   * For one job: false if there is no such job (any more). For many: how many were sent back. A job that two processes retry at
   * the same time goes back once.
   *
   * A job with `checkpoints` goes on where it was, unless `fromStart` is set.
   *
   * @param place for one job: where it failed; needed if jobs with this id failed on several queues or connections
   * @throws PayloadTooLargeError
   * @throws E_UNIQUE_HELD another job holds its unique key
   * @throws E_AMBIGUOUS_FAILED_JOB several jobs have this id, and `place` does not choose one of them
   * @throws E_FAILED_FILTER the filter chooses nothing
   * @throws E_FAILED_JOBS_OUT_OF_REACH it was not found, and not all connections could be reached
   * @throws E_RETRY_INCOMPLETE some jobs could not be sent back, or some connections not be reached; the rest was sent back
   */
  retry(which: 'all' | FailedFilter, options?: RetryOptions): Promise<number>;
  retry(id: string, place?: FailedPlace & RetryOptions): Promise<boolean>;
  async retry(
    which: string | FailedFilter,
    { fromStart = false, ...place }: FailedPlace & RetryOptions = {},
  ): Promise<boolean | number> {
    if (which === 'all') return this.#retryThose({}, fromStart, (buried) => buried.kick());
    if (isFilter(which)) {
      checkFilter(which, 'failed.retry()');
      return this.#retryThose(which, fromStart);
    }
    const found = await this.#find(which, place);
    return found !== undefined && this.#retry(found.open, found.entry, fromStart);
  }

  /**
   * Removes a failed job for good, or all that match a filter: `forget({ name: 'SendMail', olderThan: '1d' })`.
   *
   * For one job: false if there is no such job. For many: how many were removed.
   *
   * @param place for one job: where it failed; needed if jobs with this id failed on several queues or connections
   * @throws E_AMBIGUOUS_FAILED_JOB several jobs have this id, and `place` does not choose one of them
   * @throws E_FAILED_FILTER the filter chooses nothing
   * @throws E_FAILED_JOBS_OUT_OF_REACH not all connections could be reached, and one job was not found, or of many, `facts.done`
   * were removed from the others
   */
  forget(which: FailedFilter): Promise<number>;
  forget(id: string, place?: FailedPlace): Promise<boolean>;
  async forget(which: string | FailedFilter, place: FailedPlace = {}): Promise<boolean | number> {
    if (isFilter(which)) {
      checkFilter(which, 'failed.forget()');
      return this.#remove(async (open) => this.#forgetThose(open, await this.#kept(open, which)));
    }
    const found = await this.#find(which, place);
    if (found === undefined || !(await found.open.store.forget(found.entry))) return false;
    await this.#dropSteps([found.entry]);
    return true;
  }

  /**
   * Removes all failed jobs, or all of a queue. Resolves to their number.
   *
   * @throws E_FAILED_JOBS_OUT_OF_REACH not all connections could be reached; `facts.done` were removed from the others
   */
  async flush(queue?: string): Promise<number> {
    return this.#remove(
      ({ store }) => store.flush(queue),
      (buried) => buried.flush(queue),
    );
  }

  /**
   * Removes failed jobs older than `olderThan`, and all but the newest `keep` of each store. Resolves to their number. With
   * `queue`, `connection`, `name` or `error` it considers only matching jobs: the others neither go nor count. With `dryRun` it
   * removes nothing and only counts.
   *
   * @throws E_FAILED_FILTER neither `olderThan` nor `keep` is given, or the filter is not valid
   * @throws E_FAILED_JOBS_OUT_OF_REACH not all connections could be reached; `facts.done` were removed from the others
   */
  async prune(
    options: FailedFilter & { readonly keep?: number | undefined; readonly dryRun?: boolean | undefined } = {},
  ): Promise<number> {
    const { keep, dryRun = false, ...filter } = options;
    const { olderThan, ...fields } = filter;
    if (!isEmpty(filter)) checkFilter(filter, 'failed.prune()');
    checkCounts({ keep }, 'failed.prune()');
    if (olderThan === undefined && keep === undefined)
      throw invalidFailedFilter(
        'failed.prune()',
        options,
        'it has neither olderThan nor keep',
        ' Give one of them; flush() removes all.',
      );
    const { queue, ...others } = fields;
    const seconds = olderThan === undefined ? undefined : durationSeconds(olderThan, 'olderThan');
    const tooOld = async (open: OpenStore): Promise<Sweep['goes']> =>
      olderThan === undefined ? undefined : (await this.#kept(open, { olderThan })).fits;
    // Without `keep`, jobs that are not old enough need not be read.
    const chosen = keep === undefined ? filter : fields;
    if (dryRun) return this.#count(chosen, keep ?? Infinity, tooOld);
    return this.#remove(async (open) => {
      if (isEmpty(others)) return open.store.prune({ olderThan: seconds, keep, queue });
      return this.#forgetThose(open, {
        ...(await this.#kept(open, chosen)),
        keep: keep ?? Infinity,
        goes: await tooOld(open),
      });
    });
  }

  async #remove(
    from: (open: OpenStore) => Promise<number>,
    fromBuried?: (buried: Buried) => Promise<number>,
  ): Promise<number> {
    let removed = 0;
    const away = await visitStores(
      this.#sources,
      async (open) => void (removed += await from(open)),
      fromBuried && (async (buried) => void (removed += await fromBuried(buried))),
    );
    const done = `${removed} failed ${removed === 1 ? 'job was' : 'jobs were'} removed`;
    if (away.length > 0) throw failedJobsOutOfReach(done, removed, away);
    return removed;
  }

  async #find(id: string, { queue, connection }: FailedPlace): Promise<FoundEntry | undefined> {
    // JavaScript may pass anything, and each store would report it differently.
    if (typeof id !== 'string') throw invalidJobId(id);
    const { fits } = await keptFilter({ queue, connection }, () => 0);
    const all: FoundEntry[] = [];
    const away = await visitStores(this.#sources, async (open) => {
      for (const entry of await open.store.find(id)) if (fits(entry)) all.push({ open, entry });
    });
    const found = distinct(all);
    if (found.length === 0 && away.length > 0) throw failedJobsOutOfReach(`no failed job '${id}' was found`, 0, away);
    const places = found.map(({ entry }) => entry);
    if (places.length > 1) throw ambiguousFailedJob(id, places);
    return found[0];
  }

  /** @param kick sends back buried jobs, which cannot be read */
  async #retryThose(
    filter: FailedFilter,
    fromStart: boolean,
    kick?: (buried: Buried) => Promise<number>,
  ): Promise<number> {
    const left: LeftBehind[] = [];
    let retried = 0;
    let cause: unknown;
    const away = await visitStores(
      this.#sources,
      async (open) => {
        const takeOut: Sweep['takeOut'] = async (entry) => {
          try {
            if (await this.#retry(open, entry, fromStart)) retried += 1;
          } catch (error) {
            cause ??= error;
            left.push({ id: entry.id, reason: errorMessage(error) });
          }
        };
        await sweep(open, { ...(await this.#kept(open, filter)), takeOut });
      },
      kick && (async (buried) => void (retried += await kick(buried))),
    );
    if (left.length + away.length === 0) return retried;
    throw retryIncomplete(retried, left, away, cause ?? away[0]?.error);
  }

  async #forgetThose(open: OpenStore, which: Omit<Sweep, 'takeOut'>): Promise<number> {
    let removed = 0;
    const page: FailedEntry[] = [];
    const takeOut = async (entry: FailedEntry): Promise<void> => {
      if (!(await open.store.forget(entry))) return;
      removed += 1;
      if (page.push(entry) === 100) await this.#dropSteps(page.splice(0));
    };
    await sweep(open, { ...which, takeOut });
    await this.#dropSteps(page);
    return removed;
  }

  /** Of jobs that never run again. Those whose class is known and keeps none cost nothing. */
  async #dropSteps(entries: readonly FailedEntry[]): Promise<void> {
    const { registry } = this.#sources;
    const mayHave = ({ name }: FailedEntry): boolean =>
      registry.find(name) === undefined || keptCheckpoints(registry.find(name)) !== undefined;
    for (const [connection, own] of groupsOf(entries.filter(mayHave), (entry) => entry.connection)) {
      const ids = own.map(({ id }) => id);
      await dropCheckpoints(this.#sources, connection, ids);
    }
  }

  /** The newest matching jobs of a store. `offset`: how many to skip, for a filter that chooses only a queue. */
  async #newest(open: OpenStore, filter: FailedFilter, count: number, offset: number): Promise<readonly FailedEntry[]> {
    const { queue, ...rest } = filter;
    if (isEmpty(rest)) return open.store.list({ queue, limit: count, offset });
    const found: FailedEntry[] = [];
    if (count === 0) return found;
    for await (const entry of thatFit(open, await this.#kept(open, filter))) if (found.push(entry) >= count) break;
    return found;
  }

  #kept({ connection }: OpenStore, filter: FailedFilter): Promise<KeptFilter> {
    return keptFilter(filter, () => timeOf(connection, this.#sources.clock));
  }

  #logUnreachable(connection: string, error: Error): void {
    const message = `The failed jobs of connection '${connection}' are not listed: ${errorMessage(error)}`;
    this.#sources.logger.warn({ connection }, message);
  }

  async #retry(open: OpenStore, entry: FailedEntry, fromStart: boolean): Promise<boolean> {
    const isConfigured = this.#sources.connectionNames().includes(entry.connection);
    const target = this.#sources.settings(isConfigured ? entry.connection : open.connection.name);
    checkRetriedSize(entry.payload, `${entry.name} ${entry.id}`, target);
    await this.#forget(target.name, entry.id, fromStart);
    const payload = retriedPayload(entry.payload, await timeOf(open.connection, this.#sources.clock));
    if (entry.connection === open.connection.name) return retriedIn(open, entry, payload);
    if (isConfigured) return this.#sendBack(open, entry, payload);
    const message = `Failed job ${entry.id} came from the connection '${entry.connection}', which is no longer configured; it goes to '${open.connection.name}', which kept it.`;
    this.#sources.logger.warn({ id: entry.id, connection: entry.connection }, message);
    return retriedIn(open, entry, payload);
  }

  // Before the job goes back: once it is there, it may run.
  async #forget(connection: string, id: string, fromStart: boolean): Promise<void> {
    const driver = this.#sources.driver(connection);
    await forgetCompleted(this.#sources, driver, id);
    const keeper = fromStart ? this.#sources.operationsOf(driver) : undefined;
    if (keeper !== undefined) await forgetCheckpoints(keeper.records, connection, [id]);
  }

  // Two stores share no transaction. We push first: a crash in between leaves the job twice rather than nowhere.
  async #sendBack({ connection, store }: OpenStore, entry: FailedEntry, payload: Buffer): Promise<boolean> {
    const move = async (): Promise<boolean> => {
      const kept = (await store.find(entry.id)).find(({ queue }) => queue === entry.queue);
      if (kept === undefined || !kept.payload.equals(entry.payload)) return false;
      const target = this.#sources.driver(entry.connection);
      const ties = readTies(payload);
      const unique = target.keys === undefined ? undefined : ties?.unique;
      const lane = target.lanes === undefined ? undefined : ties?.lane;
      const sent = { payload: payload.toString(), ties: (unique ?? lane) && { unique, lane } };
      const [pushed] = (await target.push(entry.queue, [sent])) ?? [];
      if (typeof pushed === 'object' && 'duplicate' in pushed) throw uniqueHeld(entry.name, entry.id, pushed.duplicate);
      await store.forget(entry);
      return true;
    };
    const { locks } = connection;
    if (locks === undefined) return move();
    const lock = new Lock(`retry:${entry.id}`, RETRY_LOCK, () => locks, this.#sources.clock);
    return (await lock.get(move)) ?? false;
  }
}

/** @throws E_UNIQUE_HELD */
async function retriedIn({ store }: OpenStore, entry: FailedEntry, payload: Buffer): Promise<boolean> {
  const retried = await store.retry(entry, payload);
  if (typeof retried === 'object') throw uniqueHeld(entry.name, entry.id, retried.held);
  return retried;
}

function isFilter(which: unknown): which is FailedFilter {
  return typeof which === 'object' && which !== null;
}

/** Fields that set a last moment: Laravel's present one, and the one before it. */
const LAST_MOMENTS = ['retryUntil', 'timeoutAt'];

/** The payload with which a failed job goes back to its queue: fresh tries, nothing else changed. */
export function retriedPayload(payload: Buffer, now: Milliseconds): Buffer {
  const counters = countersIn(payload);
  const envelope = envelopeIn(payload);
  // An unreadable payload goes back unchanged, and will be set aside again with its reason.
  if (counters === undefined || envelope === undefined) return payload;
  const { occurrence } = envelope;
  // Each occurrence is a run of its own, which its schedule has let go: others neither keep it away nor wait for it.
  const freed = occurrence === undefined ? payload : withoutUniqueKey(payload, overlapKey(occurrence.schedule));
  const retried = withRetryMark(withCounters(freed, afterRetry(counters)), fenceOf(counters));
  const { retryUntil } = envelope.chosen;
  return retryUntil === undefined || retryUntil > now ? retried : withoutLastMoment(retried, envelope);
}

// Of two equal keys the last one wins, so the text before it stays unchanged, to the byte.
function withoutLastMoment(payload: Buffer, { fields }: Envelope): Buffer {
  const place = placeOfMembers(payload, readCounters(payload)?.bodyEnd ?? payload.length - 1);
  const cleared = LAST_MOMENTS.filter((field) => field in fields).map((field) => `,"${field}":null`);
  return Buffer.concat([payload.subarray(0, place), Buffer.from(cleared.join('')), payload.subarray(place)]);
}
