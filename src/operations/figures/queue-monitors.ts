/** How long a queue may become, and how long its jobs may wait, before somebody is told: `Queue.monitor`. */
import type { Seconds } from '../../base/clock';
import { type Duration, durationSeconds } from '../../job/duration';
import { checkQueueName } from '../../job/queue-name';
import { invalidMonitor } from '../errors';

/** One of them at least. */
export interface QueueLimit {
  /** More jobs than that are ready; those that are delayed are not late. */
  readonly size?: number | undefined;
  /** The oldest job that is ready has waited longer. */
  readonly wait?: Duration | undefined;
}

/** By the names of queues. */
export type LimitsByQueue = Readonly<Record<string, QueueLimit>>;

export interface CheckedLimit {
  readonly size?: number | undefined;
  readonly wait?: Seconds | undefined;
}

export type QueueLimits = ReadonlyMap<string, CheckedLimit>;

export class QueueMonitors {
  readonly #usual: () => string;
  /** By connection; undefined: the usual one, whatever the configuration will name. */
  readonly #limits = new Map<string | undefined, QueueLimits>();

  constructor(usual: () => string) {
    this.#usual = usual;
  }

  /** Those that were given for other queues stay. @throws E_INVALID_MONITOR, E_INVALID_QUEUE_NAME, E_INVALID_DURATION */
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
  if (!isRecord(given)) throw invalidMonitor(queue, 'is to be an object with size, wait or both', given);
  const { size, wait, ...others } = given;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw invalidMonitor(`${queue}.${unknown}`, 'is no limit: there are size and wait', unknown);
  if (size === undefined && wait === undefined) throw invalidMonitor(queue, 'has neither size nor wait', given);
  if (size !== undefined && !(Number.isSafeInteger(size) && (size as number) > 0))
    throw invalidMonitor(`${queue}.size`, 'is to be a whole number from 1', size);
  const seconds = wait === undefined ? undefined : durationSeconds(wait, `${queue}.wait of Queue.monitor()`);
  if (seconds === 0) throw invalidMonitor(`${queue}.wait`, 'is to be more than 0', wait);
  return { size: size as number | undefined, wait: seconds };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
