/** Results of jobs: kept before the jobs count as completed, and awaited by whoever knows their ids. */
import { Alarm, Silence, within, type Milliseconds, type Seconds } from '../base/clock';
import { toError } from '../base/exception-text';
import type { Application, JobEnd, EndedRun, Observer } from '../connections/application';
import type { Connection } from '../connections/contract';
import { isStoreAway, QueueUnavailableError } from '../connections/errors';
import type { Listening, RecordStore } from '../connections/record-store';
import type { JobContext } from '../job/job-context';
import { keptResult } from '../job/resolve-options';
import { endedCancelled, JobFailedError, noRecords, resultNotKept, resultPending } from './errors';
import { foundJob, type FoundJob } from './found-job';
import { endText, readEnd, reasonText, RESULTS, type Reason } from './kept-end';
import { stateOf } from './listed-job';
import { envelopeIn } from '../payload/envelope';

/**
 * Pauses between two looks: the first, the growth factor, and the longest; `woken` if the store wakes waiters, so that only jobs
 * that keep no result must be looked for; `near` once the record is there, which is written just before the end.
 */
const PAUSE = { first: 20, growth: 1.5, most: 1000, woken: 2000, near: 2 } as const;
/** How long the last look may take, which begins when the time is over. */
const LAST_LOOK: Milliseconds = 500;
/** Looking for the job itself costs more than asking for its record: after this many looks, only every SELDOM-th does it. */
const EAGER = 10;
const SELDOM = 2;

/**
 * Keeps the result of a job, or its other end. If that is not possible, reports it, and tells whoever asks for the result.
 *
 * @throws QueueUnavailableError the store is unreachable: the job must not end before it is back
 */
export async function keepEnd(application: Application, job: JobContext, end: JobEnd, keep: Seconds): Promise<void> {
  const { id, name, connectionName: connection, queue } = job;
  const during = `keeping the result of ${name}`;
  const own = application.driver(connection);
  const store = application.operationsOf(own);
  // Nobody expects results from a connection that keeps no jobs; whoever asks is told.
  if (store === undefined && !own.capabilities.reserve) return;
  if (store === undefined) return application.report(noRecords(connection, name), { job, during });
  const { records } = store;
  const put = (value: string): Promise<void> => {
    const record = { kind: RESULTS, id, value };
    return records.wake === undefined ? records.put([record], keep) : records.wake.put(record, keep);
  };
  try {
    const { maxPayload: most } = application.settings(connection);
    await put(endText(end, { id, job: name, connection, queue, most }, application));
  } catch (error) {
    if (isStoreAway(error)) throw error;
    application.report(error, { job, during });
    await put(reasonText('not-kept', name, toError(error))).catch((refusal: unknown) => {
      if (isStoreAway(refusal)) throw refusal;
    });
  }
}

export interface WantedResult {
  readonly id: string;
  /** The queue in which it is known to be. */
  readonly queue: string | undefined;
  readonly within: Seconds;
}

/** The job has not ended, as far as is known. */
interface Pending {
  readonly state: FoundJob['state'];
  /** The record that is written just before its end is there. */
  readonly isNear?: boolean;
  /** Its class keeps results, so that there will be such a record. */
  readonly isKept?: boolean;
}

type Look = { readonly value: unknown } | Pending;

/**
 * Waits for the end of a job, and returns its result. Undefined if it is not kept.
 *
 * @throws JobFailedError, E_JOB_ENDED_CANCELLED, E_RESULT_NOT_KEPT, E_RESULT_PENDING, E_NO_RECORDS; QueueUnavailableError the
 * store was unreachable to the last; UnknownClassError, PayloadVersionError, InvalidPayloadError, UnknownKeyError, E_TAMPERED_PAYLOAD the result cannot be read here
 */
export async function awaitResult(
  connection: Connection,
  application: Application,
  wanted: WantedResult,
): Promise<unknown> {
  const { clock, observers } = application;
  const { records } = application.neededOperationsOf(connection);
  const place = { connection, application, records, wanted };
  const until = clock.monotonic() + wanted.within * 1000;
  const alarm = new EndAlarm(wanted.id);
  observers.add(alarm);
  const pauses = new Pauses();
  let listening: Listening | undefined;
  let state: Pending['state'] | undefined;
  try {
    for (let looks = 0; ; looks += 1) {
      const left = until - clock.monotonic();
      const rang = alarm.rang();
      const isWhole = rang || left <= 0 || looks < EAGER || looks % SELDOM === 0 || listening?.isHeard === true;
      const patience = left > 0 ? left : LAST_LOOK;
      const found = await unlessAway(within(clock, patience, look(place, isWhole)), left);
      if (found === 'silent') {
        // A look that had little time says nothing about the store.
        if (state === undefined || patience >= LAST_LOOK) throw unanswered(connection, wanted);
        throw resultPending(wanted.id, connection.name, state, wanted.within);
      }
      if ('value' in found) return found.value;
      if (left <= 0) throw resultPending(wanted.id, connection.name, found.state, wanted.within);
      state = found.state;
      // Not before the first look, which is often the last. The next look follows at once and finds what was written in between.
      if (listening === undefined && records.wake !== undefined) {
        listening = records.wake.listen(RESULTS, wanted.id, () => alarm.ring());
        if (listening.isHeard) alarm.ring();
      }
      await alarm.within(clock, Math.min(pauses.next(found, rang, listening?.isHeard === true), left));
    }
  } finally {
    listening?.stop();
    observers.delete(alarm);
  }
}

/**
 * The store may be back before the wait is over. A look may take longer than the caller has time: each of its calls has the
 * deadline of the connection.
 */
async function unlessAway(looking: Promise<Look>, left: Milliseconds): Promise<Look | 'silent'> {
  try {
    return await looking;
  } catch (error) {
    if (error instanceof Silence) return 'silent';
    if (left > 0 && isStoreAway(error)) return { state: 'unknown' };
    throw error;
  }
}

function unanswered({ name, address }: Connection, { id, within: given }: WantedResult): Error {
  const deadline = Math.max(given, LAST_LOOK / 1000);
  const consequence = `it is not known whether the job ${id} has ended`;
  // Its driver is no kind of store: `database` may be any.
  const store = `Connection '${name}'`;
  return new QueueUnavailableError({ connection: name, store, address, consequence, deadline });
}

interface Place {
  readonly connection: Connection;
  readonly application: Application;
  readonly records: RecordStore;
  readonly wanted: WantedResult;
}

/** @param isWhole whether to look for the job itself, whether its end is kept or not */
async function look({ connection, application, records, wanted }: Place, isWhole: boolean): Promise<Look> {
  const { id, queue } = wanted;
  const isThere = (await records.get(RESULTS, id)) !== undefined;
  const unknown = { state: 'unknown' } as const;
  if (!isThere && !isWhole) return unknown;
  if (connection.queues.find === undefined) {
    // A connection that keeps no jobs has run them by now.
    if (!isThere && connection.capabilities.reserve) return unknown;
    return { value: await endOf(records, application, id) };
  }
  // The record is written before the end: until then the job may run again, with another outcome.
  const waiting = await connection.queues.find(id, queue);
  if (typeof waiting === 'object') {
    const isKept = keptResult(envelopeIn(waiting.payload)?.definitionIn(application.registry)) !== undefined;
    return { state: stateOf(waiting.state), isNear: isThere, isKept };
  }
  const found = await foundJob(connection, application, id, queue, waiting);
  const { state, name = '', isSure, error = '', history } = found;
  if (state === 'failed') throw new JobFailedError(name, id, await failureOf(records, application, id, error));
  if (!isSure && !isThere) return unknown;
  // Read again: the job may have ended since.
  const value = await endOf(records, application, id);
  if (value === undefined && history.at(-1)?.outcome === 'cancelled') throw endedCancelled(name, id);
  return { value };
}

/** The kept result of a job that has ended. @throws its other outcome */
async function endOf(records: RecordStore, application: Application, id: string): Promise<unknown> {
  const end = readEnd(await records.get(RESULTS, id), application, id);
  if (end === undefined || end.kind === 'completed') return end?.value;
  if (end.kind === 'failed') throw new JobFailedError(end.job, id, end.reason);
  if (end.kind === 'cancelled') throw endedCancelled(end.job, id, end.reason);
  throw resultNotKept(end.job, id, end.reason.message);
}

/** @param line the first line of its error, from the failed store */
async function failureOf(records: RecordStore, application: Application, id: string, line: string): Promise<Reason> {
  const end = readEnd(await records.get(RESULTS, id), application, id);
  if (end?.kind === 'failed') return end.reason;
  const at = line.indexOf(': ');
  return at < 0 ? { name: 'Error', message: line } : { name: line.slice(0, at), message: line.slice(at + 2) };
}

/** The pauses between looks. */
class Pauses {
  #next: Milliseconds = PAUSE.first;
  #wasNear = false;

  /** @param isHeard whether its store reports records that are written before the end */
  next({ isNear = false, isKept = false }: Pending, rang: boolean, isHeard: boolean): Milliseconds {
    if (isNear && (rang || !this.#wasNear)) this.#next = PAUSE.near;
    else if (rang) this.#next = PAUSE.first;
    this.#wasNear = isNear;
    if (isHeard && isKept && !isNear) return PAUSE.woken;
    const pause = this.#next;
    this.#next = Math.min(pause * PAUSE.growth, isHeard ? PAUSE.woken : PAUSE.most);
    return pause;
  }
}

/** Rings when the job ends in this very process, or its store reports its end. */
class EndAlarm extends Alarm implements Observer {
  constructor(readonly id: string) {
    super();
  }

  ended({ job }: EndedRun): void {
    if (job.id === this.id) this.ring();
  }
}
