/** How long a queue may become, and how long its jobs may wait, before the `busy` hook is called: `Queue.monitor`. */
import type { Seconds } from '../../base/clock';
import { type Duration, durationSeconds } from '../../job/duration';
import { checkQueueName } from '../../job/queue-name';
import { isRecord } from '../../payload/kinds';
import { invalidMonitor } from '../errors';

/** At least one of them. */
export interface QueueLimit {
  /** Busy if more jobs than this are ready; delayed jobs do not count. */
  readonly size?: number | undefined;
  /** Busy if the oldest ready job has waited longer than this. */
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
