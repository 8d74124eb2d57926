/** What jobs give: kept before they count as completed, and waited for by whoever knows their ids. */
import type { Clock, Milliseconds, Seconds, Timer } from '../../base/clock';
import { toError } from '../../base/exception-text';
import type { Application, JobEnd } from '../../connections/application';
import type { Connection } from '../../connections/contract';
import { isStoreAway } from '../../connections/errors';
import type { EndedRun, Observer } from '../../connections/observer';
import type { Listening, RecordStore } from '../../connections/record-store';
import type { JobContext } from '../../job/job-context';
import { keptResult } from '../../job/resolve-options';
import { endedCancelled, JobFailedError, noRecords, resultNotKept, resultPending } from '../errors';
import { type FoundJob, foundJob } from '../found-job';
import { endText, notKeptText, type Reason, readEnd, RESULTS } from './kept-end';
import { type SeenApplication, stateOf } from '../listed-job';
import { definitionIn } from '../shown-job';

export interface ResultApplication extends SeenApplication, Pick<Application, 'driver' | 'observers' | 'report'> {
  settings(name?: string): { readonly maxPayload: number };
}

/**
 * Between two looks: the first, by how much each is longer than the one before, and the longest; that where the store wakes who
 * waits, and then only jobs that keep no result have to be looked for. What is kept is written just before the end: that is near.
 */
const PAUSE = { first: 20, growth: 1.5, most: 1000, woken: 2000, near: 2 } as const;
/** To look for the job itself costs more than to ask for its record: after so many looks, of so many one does. */
const EAGER = 10;
const SELDOM = 2;

/**
 * Keeps what a job has given, or how else it has ended. What cannot be kept is reported, and told to who asks for it.
 *
 * @throws QueueUnavailableError the store is away: the job is not to end before it is back
 */
export async function keepEnd(
  application: ResultApplication,
  job: JobContext,
  end: JobEnd,
  keep: Seconds,
): Promise<void> {
  const { id, name, connectionName: connection, queue } = job;
  const during = `keeping what ${name} gave`;
  const own = application.driver(connection);
  const store = application.operationsOf(own);
  // Of what keeps no jobs nobody expects it: who asks is told.
  if (store === undefined && !own.capabilities.reserve) return;
  if (store === undefined) return application.report(noRecords(connection), { job, during });
  const { records } = store;
  const put = (value: string): Promise<void> => {
    const record = { kind: RESULTS, id, value };
    return records.wake === undefined ? records.put([record], keep) : records.wake.put(record, keep);
  };
  try {
    const { maxPayload: most } = application.settings(connection);
    await put(endText(end, { job: name, connection, queue, most }, application.registry));
  } catch (error) {
    if (isStoreAway(error)) throw error;
    application.report(error, { job, during });
    await put(notKeptText(name, toError(error))).catch((refusal: unknown) => {
      if (isStoreAway(refusal)) throw refusal;
    });
  }
}

export interface WantedResult {
  readonly id: string;
  /** Where it is known to be. */
  readonly queue: string | undefined;
  readonly within: Seconds;
}

/** It has not ended, as far as is known. */
interface Pending {
  readonly state: FoundJob['state'];
  /** What is written just before its end is there. */
  readonly isNear?: boolean;
  /** Its class says that there will be such a thing. */
  readonly isKept?: boolean;
}

type Look = { readonly value: unknown } | Pending;

/**
 * Waits for the end of a job, and gives what it gave; undefined where that is not kept.
 *
 * @throws JobFailedError, E_JOB_ENDED_CANCELLED, E_RESULT_NOT_KEPT, E_RESULT_PENDING, E_NO_RECORDS; QueueUnavailableError: the store
 *   was away to the last; what it gave cannot be read here: UnknownClassError, PayloadVersionError, InvalidPayloadError
 */
export async function awaitResult(
  connection: Connection,
  application: ResultApplication,
  wanted: WantedResult,
): Promise<unknown> {
  const { clock, observers } = application;
  const { records } = application.neededOperationsOf(connection);
  const place = { connection, application, records, wanted };
  const until = clock.monotonic() + wanted.within * 1000;
  const alarm = new Alarm(wanted.id);
  observers.add(alarm);
  const pauses = new Pauses();
  let listening: Listening | undefined;
  try {
    for (let looks = 0; ; looks += 1) {
      const left = until - clock.monotonic();
      const rang = alarm.rang();
      const isWhole = rang || left <= 0 || looks < EAGER || looks % SELDOM === 0 || listening?.isHeard === true;
      const found = await unlessAway(look(place, isWhole), left);
      if ('value' in found) return found.value;
      if (left <= 0) throw resultPending(wanted.id, connection.name, found.state, wanted.within);
      // Not before the first look, which often is the last. What was put since then is found by the next one, which follows at once.
      if (listening === undefined && records.wake !== undefined) {
        listening = records.wake.listen(RESULTS, wanted.id, () => alarm.ring());
        if (listening.isHeard) alarm.ring();
      }
      await alarm.within(Math.min(pauses.next(found, rang, listening?.isHeard === true), left), clock);
    }
  } finally {
    listening?.stop();
    observers.delete(alarm);
  }
}

/** The store may be back before the wait is over. */
async function unlessAway(looking: Promise<Look>, left: Milliseconds): Promise<Look> {
  try {
    return await looking;
  } catch (error) {
    if (left > 0 && isStoreAway(error)) return { state: 'unknown' };
    throw error;
  }
}

interface Place {
  readonly connection: Connection;
  readonly application: ResultApplication;
  readonly records: RecordStore;
  readonly wanted: WantedResult;
}

/** @param isWhole the job itself is looked for, whether its end is kept or not */
async function look({ connection, application, records, wanted }: Place, isWhole: boolean): Promise<Look> {
  const { id, queue } = wanted;
  const isThere = (await records.get(RESULTS, id)) !== undefined;
  const unknown = { state: 'unknown' } as const;
  if (!isThere && !isWhole) return unknown;
  if (connection.find === undefined) {
    // What keeps no jobs has run them by now.
    if (!isThere && connection.capabilities.reserve) return unknown;
    return { value: await endOf(records, application, id) };
  }
  // It is written before the end: until then it may run again, and come to another one.
  const waiting = await connection.find(id, queue);
  if (typeof waiting === 'object') {
    const isKept = keptResult(definitionIn(waiting.payload, application.registry)) !== undefined;
    return { state: stateOf(waiting.state), isNear: isThere, isKept };
  }
  const found = await foundJob(connection, application, id, queue, waiting);
  const { state, name = '', isSure, error = '', history } = found;
  if (state === 'failed') throw new JobFailedError(name, id, await failureOf(records, application, id, error));
  if (!isSure && !isThere) return unknown;
  // Asked anew: it may have ended since.
  const value = await endOf(records, application, id);
  if (value === undefined && history.at(-1)?.outcome === 'cancelled') throw endedCancelled(name, id);
  return { value };
}

/** What is kept of the end of a job that has ended. @throws what became of it in place of a result */
async function endOf(records: RecordStore, { registry }: ResultApplication, id: string): Promise<unknown> {
  const text = await records.get(RESULTS, id);
  const end = text === undefined ? undefined : readEnd(text, registry);
  if (end === undefined || end.kind === 'completed') return end?.value;
  if (end.kind === 'failed') throw new JobFailedError(end.job, id, end.reason);
  if (end.kind === 'cancelled') throw endedCancelled(end.job, id, end.reason);
  throw resultNotKept(end.job, id, end.reason.message);
}

/** @param line the first of its error, as the failed store has it */
async function failureOf(
  records: RecordStore,
  { registry }: ResultApplication,
  id: string,
  line: string,
): Promise<Reason> {
  const text = await records.get(RESULTS, id);
  const end = text === undefined ? undefined : readEnd(text, registry);
  if (end?.kind === 'failed') return end.reason;
  const at = line.indexOf(': ');
  return at < 0 ? { name: 'Error', message: line } : { name: line.slice(0, at), message: line.slice(at + 2) };
}

/** Between two looks. */
class Pauses {
  #next: Milliseconds = PAUSE.first;
  #wasNear = false;

  /** @param isHeard its store tells of what is written before the end */
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

/** Goes off when the job ends in this very process, or its store tells of its end. */
class Alarm implements Observer {
  readonly #id: string;
  #rang = false;
  #wake: (() => void) | undefined;

  constructor(id: string) {
    this.#id = id;
  }

  ended({ job }: EndedRun): void {
    if (job.id === this.#id) this.ring();
  }

  ring(): void {
    this.#rang = true;
    this.#wake?.();
  }

  /** Whether it has since the last time. */
  rang(): boolean {
    const rang = this.#rang;
    this.#rang = false;
    return rang;
  }

  async within(milliseconds: Milliseconds, clock: Clock): Promise<void> {
    if (this.#rang) return;
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = clock.after(milliseconds, resolve, true);
    });
    timer?.cancel();
  }
}
