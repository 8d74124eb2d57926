/**
 * Samples once a minute how long each queue is and how long its jobs wait, for all processes: the first one to ask in a minute
 * does it, without electing a leader. Among processes with the same limits, the first one reports queues that are too long or too
 * slow: `Queue.monitor`.
 */
import { hash } from 'node:crypto';
import type { Milliseconds, Seconds } from '../../base/clock';
import type { Connection, Counts } from '../../connections/contract';
import { isStoreAway } from '../../connections/errors';
import { LONGEST_ID } from '../../connections/record-store';
import type { BusyEvent } from '../../job/hooks';
import { uuidv7, READY_AT, readyAtOf } from '../../payload/uuid';
import { MINUTES, spanAt, WHOLE_QUEUE, type JobCounts } from './job-counters';
import type { OperationsConnection } from '../../connections/application';
import { durationSeconds, type Duration } from '../../job/duration';
import { checkQueueName } from '../../job/option-kinds';
import { isRecord, fieldsIn } from '../../payload/values';
import { invalidMonitor } from '../errors';
import { fenceIn, idAtEnd } from '../../payload/counters';

const MOST_QUEUES = 100;
const HOUR: Seconds = 3600;

/** A queue that stays busy is reported again after this time. */
const BUSY_AGAIN: Seconds = 3600;
/** The time that the reporting process has before another may report instead, in case it is killed. */
const TELLING: Seconds = 30;

/** The fields of a sample: the number of samples, the jobs by state, and the wait of the oldest in milliseconds. */
export const SAMPLE = { samples: 'n', ready: 'e', delayed: 'y', reserved: 'v', wait: 'o' } as const;

export interface QueueSamplerParts {
  readonly connection: Connection;
  readonly operations: OperationsConnection;
  /** The limits of this connection, by queue; may grow. */
  readonly limits: () => QueueLimits;
  readonly busy: (event: BusyEvent) => void;
}

export class QueueSampler {
  readonly #parts: QueueSamplerParts;
  readonly #source = uuidv7();
  #minute = -1;
  #hour = -1;

  constructor(parts: QueueSamplerParts) {
    this.#parts = parts;
  }

  /** @throws what the stores throw, after all queues that could be sampled; the others may have no sample for this minute */
  async sample(now: Milliseconds, take: (sample: JobCounts) => void): Promise<void> {
    const { connection, limits } = this.#parts;
    const minute = spanAt(now, MINUTES.step);
    if (minute === this.#minute) return;
    this.#minute = minute;
    const watched = limits();
    const turn = `${connection.name}/${minute}`;
    const samples = await this.#isFirst(turn);
    // Other programs may share the store, and have no limits or different ones.
    const judges = watched.size > 0 && (await this.#isFirst(`${turn}/${textOf(watched)}`));
    const queues = new Set([
      ...(samples || judges ? watched.keys() : []),
      ...(samples ? await connection.queues.names() : []),
    ]);
    // One after the other, so that jobs come first.
    let failed: { readonly error: unknown } | undefined;
    for (const queue of [...queues].slice(0, MOST_QUEUES)) {
      try {
        const counts = await connection.queues.counts(queue);
        const wait = await oldestWait(connection, queue, counts, now);
        if (samples) take(sampleOf(connection.name, queue, counts, wait));
        if (judges) await this.#judge(queue, watched.get(queue), counts.ready, wait);
      } catch (error) {
        // If the store is unreachable, each queue would have to wait for it.
        if (isStoreAway(error) && connection.capabilities.follows !== 'queue') throw error;
        failed ??= { error };
      }
    }
    if (failed !== undefined) throw failed.error;
    await this.#forgetIdle(now);
  }

  /** Once an hour. */
  async #forgetIdle(now: Milliseconds): Promise<void> {
    const { connection, operations } = this.#parts;
    const hour = spanAt(now, HOUR);
    if (hour === this.#hour) return;
    this.#hour = hour;
    if (!(await this.#isFirst(`${connection.name}/idle/${hour}`, HOUR))) return;
    // Nothing depends on it, and a user of Redis may lack the right: the next look tries again.
    await forgetIdleQueues(connection, operations, now, hour).catch(() => undefined);
  }

  #isFirst(id: string, span: Seconds = MINUTES.step): Promise<boolean> {
    const turn = { kind: 'sample', id, value: this.#source };
    return this.#parts.operations.records.replace(turn, undefined, 2 * span);
  }

  // The report is noted in the store, because another process may judge next.
  async #judge(queue: string, limit: CheckedLimit | undefined, size: number, wait: Seconds | undefined): Promise<void> {
    if (limit === undefined) return;
    const { connection, operations, busy } = this.#parts;
    const isBusy = size > (limit.size ?? Infinity) || (wait ?? 0) > (limit.wait ?? Infinity);
    const id = [connection.name, queue, limit.size ?? '', limit.wait ?? ''].join('/');
    const told = { kind: 'busy', id, value: this.#source };
    if (!isBusy) return operations.records.put([told], 0);
    const isNew = await operations.records.replace({ ...told, value: uuidv7() }, undefined, TELLING);
    if (!isNew) return;
    busy({ connectionName: connection.name, queue, size, wait: wait && Math.round(wait * 10) / 10, limit });
    await operations.records.put([told], BUSY_AGAIN);
  }
}

function sampleOf(connection: string, queue: string, counts: Counts, wait: Seconds | undefined): JobCounts {
  const { samples, ready, delayed, reserved, wait: longest } = SAMPLE;
  return {
    connection,
    queue,
    job: WHOLE_QUEUE,
    counts: {
      [samples]: 1,
      [ready]: counts.ready,
      [delayed]: counts.delayed,
      [reserved]: counts.reserved,
      [longest]: Math.round((wait ?? 0) * 1000),
    },
  };
}

/** A short text for any limits. */
function textOf(limits: QueueLimits): string {
  return hash('sha256', JSON.stringify([...limits]), 'base64url').slice(0, 12);
}

/** At least one of them. */
export interface QueueLimit {
  /** Busy if more jobs than this are ready; delayed jobs do not count. */
  readonly size?: number | undefined;
  /** Busy if the oldest ready job has waited longer than this: seconds, or `'5m'`. */
  readonly wait?: Duration | undefined;
}

/** By the names of queues. */
export type LimitsByQueue = Readonly<Record<string, QueueLimit>>;

export interface CheckedLimit {
  readonly size?: number | undefined;
  readonly wait?: Seconds | undefined;
}

export type QueueLimits = ReadonlyMap<string, CheckedLimit>;

/** How long a queue may become, and how long its jobs may wait, before the `busy` hook is called: `Queue.monitor`. */
export class QueueMonitors {
  readonly #usual: () => string;
  /** By connection. Undefined: the default one, which the configuration may name later. */
  readonly #limits = new Map<string | undefined, QueueLimits>();

  constructor(usual: () => string) {
    this.#usual = usual;
  }

  /** Adds limits; those of other queues stay. @throws E_INVALID_MONITOR, E_INVALID_QUEUE_NAME, E_INVALID_DURATION */
  add(limits: LimitsByQueue, connection?: string): void {
    this.#limits.set(connection, new Map([...this.#given(connection), ...checkedLimits(limits)]));
  }

  of(connection: string): QueueLimits {
    const usual = connection === this.#usual() ? this.#given(undefined) : [];
    return new Map([...usual, ...this.#given(connection)]);
  }

  #given(connection: string | undefined): Iterable<readonly [string, CheckedLimit]> {
    return this.#limits.get(connection) ?? [];
  }
}

function checkedLimits(given: unknown): QueueLimits {
  if (!isRecord(given)) throw invalidMonitor('', 'takes an object of limits by queue', given);
  return new Map(
    Object.entries(given).map(([queue, limit]) => {
      checkQueueName(queue, 'queue of Queue.monitor()');
      return [queue, checkedLimit(queue, limit)];
    }),
  );
}

function checkedLimit(queue: string, given: unknown): CheckedLimit {
  if (!isRecord(given)) throw invalidMonitor(queue, 'must be an object with size, wait or both', given);
  const { size, wait, ...others } = given;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw invalidMonitor(`${queue}.${unknown}`, 'is not a limit: there are size and wait', unknown);
  if (size === undefined && wait === undefined) throw invalidMonitor(queue, 'has neither size nor wait', given);
  if (size !== undefined && !(Number.isSafeInteger(size) && (size as number) > 0))
    throw invalidMonitor(`${queue}.size`, 'must be a whole number from 1', size);
  const seconds = wait === undefined ? undefined : durationSeconds(wait, `${queue}.wait of Queue.monitor()`);
  if (seconds === 0) throw invalidMonitor(`${queue}.wait`, 'must be more than 0', wait);
  return { size: size as number | undefined, wait: seconds };
}

const WEEK: Milliseconds = 7 * 24 * 3_600_000;
/** How long a note is kept: longer than a week, because nobody may look for a while. */
const NOTED: Seconds = 30 * 24 * 3600;
const KIND = 'idle';
/** Queues in one look; the next one goes on behind them. */
const MOST_LOOKED_AT = 1000;

/**
 * Forgets queues that had no jobs for a week: a program that names queues after orders or customers would otherwise make every list
 * and search longer for ever.
 *
 * The store notes since when a queue has been empty. A queue that is used only between two looks may be forgotten all the same; its
 * next job makes it known again.
 *
 * @param turn the number of this look
 * @throws what the stores throw
 */
export async function forgetIdleQueues(
  connection: Connection,
  operations: OperationsConnection,
  now: Milliseconds,
  turn: number,
): Promise<void> {
  if (connection.queues.forget === undefined) return;
  const queues = await connection.queues.names();
  const first = (turn % Math.max(1, Math.ceil(queues.length / MOST_LOOKED_AT))) * MOST_LOOKED_AT;
  // One after the other, so that jobs come first.
  for (const queue of queues.slice(first, first + MOST_LOOKED_AT)) {
    const id = `${connection.name}/${queue}`;
    if (id.length <= LONGEST_ID && (await mayGo(connection, operations, queue, id, now)))
      await connection.queues.forget(queue);
  }
}

/** Whether the queue had no jobs for a week. Notes when it has none, and that it has some again. */
async function mayGo(
  connection: Connection,
  { records }: OperationsConnection,
  queue: string,
  id: string,
  now: Milliseconds,
): Promise<boolean> {
  const { ready, delayed, reserved } = await connection.queues.counts(queue);
  const isEmpty = ready + delayed + reserved === 0;
  const since = await records.get(KIND, id);
  const note = { kind: KIND, id, value: String(now) };
  const isOver = isEmpty && since !== undefined && now - Number(since) >= WEEK;
  if (isEmpty && since === undefined) await records.put([note], NOTED);
  else if (since !== undefined && (!isEmpty || isOver)) await records.put([note], 0);
  return isOver;
}

/** Several, because the first jobs may have run before, and those do not say since when they are ready again. */
const LOOKED_AT = 10;

/**
 * Delayed jobs that are due count too: without a worker, nobody makes them ready. Undefined if there is none, or none of the first
 * ones says since when.
 */
export async function oldestWait(
  connection: Connection,
  queue: string,
  { ready, delayed }: Counts,
  now: Milliseconds,
): Promise<Seconds | undefined> {
  const { queues } = connection;
  if (queues.peek === undefined) return undefined;
  const first = ready === 0 ? [] : await queues.peek(queue, 'ready', LOOKED_AT);
  const [next] = delayed === 0 ? [] : await queues.peek(queue, 'delayed', 1);
  const due = next?.at !== undefined && next.at <= now ? next.at : undefined;
  const moments = [due, ...first.map(({ payload }) => readyAtIn(payload))].filter((moment) => moment !== undefined);
  return moments.length === 0 ? undefined : Math.max(0, now - Math.min(...moments)) / 1000;
}

function readyAtIn(payload: Buffer): Milliseconds | undefined {
  const id = fenceIn(payload) > 0 ? undefined : idAtEnd(payload);
  if (id === undefined) return undefined;
  // Nearly no payload has this field, and payloads may be long.
  return readyAtOf(id, payload.includes(`"${READY_AT}":`) ? fieldsIn(payload.toString())?.[READY_AT] : undefined);
}
