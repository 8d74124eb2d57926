/**
 * Looks once a minute how long each queue is and how long its jobs wait, for all processes: the first one to ask in a minute does so,
 * and no leader has to be found. It tells of those that are too long or too slow.
 */
import type { Milliseconds, Seconds } from '../../base/clock';
import type { Connection } from '../../connections/contract';
import type { BusyEvent } from '../../job/hook-events';
import { uuidv7 } from '../../payload/uuid';
import { MINUTES, spanAt, WHOLE_QUEUE } from './figure-names';
import type { JobCounts } from './job-counts';
import { oldestWait } from '../oldest-wait';
import type { OperationsConnection } from '../operations-connection';
import type { QueueLimits } from './queue-monitors';

const MOST_QUEUES = 100;

/** A queue that stays busy is told of again after this. */
const BUSY_AGAIN: Seconds = 3600;

/** What a sample counts: how many there were, the jobs by state, and the wait of the oldest in milliseconds. */
export const SAMPLE = { samples: 'n', ready: 'e', delayed: 'y', reserved: 'v', wait: 'o' } as const;

export interface QueueSamplerParts {
  readonly connection: Connection;
  readonly operations: OperationsConnection;
  /** Of this connection, by queue; may grow. */
  readonly limits: () => QueueLimits;
  readonly busy: (event: BusyEvent) => void;
}

export class QueueSampler {
  readonly #parts: QueueSamplerParts;
  readonly #source = uuidv7();
  #minute = -1;

  constructor(parts: QueueSamplerParts) {
    this.#parts = parts;
  }

  /** @throws what the stores throw; then this minute may have no sample */
  async sample(now: Milliseconds, take: (sample: JobCounts) => void): Promise<void> {
    const { connection, operations, limits } = this.#parts;
    const minute = spanAt(now, MINUTES.step);
    if (minute === this.#minute || !connection.capabilities.counts) return;
    this.#minute = minute;
    const turn = { kind: 'sample', id: `${connection.name}/${minute}`, value: this.#source };
    if (!(await operations.records.replace(turn, undefined, 2 * MINUTES.step))) return;
    const queues = new Set([...limits().keys(), ...(await connection.queues())]);
    // One after the other: the jobs go first.
    for (const queue of [...queues].slice(0, MOST_QUEUES)) take(await this.#look(queue, now));
  }

  async #look(queue: string, now: Milliseconds): Promise<JobCounts> {
    const { connection } = this.#parts;
    const counts = await connection.counts(queue);
    const wait = counts.ready === 0 ? undefined : await oldestWait(connection, queue, now);
    await this.#judge(queue, counts.ready, wait);
    const { samples, ready, delayed, reserved, wait: longest } = SAMPLE;
    return {
      connection: connection.name,
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

  // That it was told stands in the store: the next sample may be another process's.
  async #judge(queue: string, size: number, wait: Seconds | undefined): Promise<void> {
    const { connection, operations, limits, busy } = this.#parts;
    const limit = limits().get(queue);
    if (limit === undefined) return;
    const isBusy = size > (limit.size ?? Infinity) || (wait ?? 0) > (limit.wait ?? Infinity);
    const told = { kind: 'busy', id: `${connection.name}/${queue}`, value: this.#source };
    if (!isBusy) return operations.records.put([told], 0);
    const isNew = await operations.records.replace({ ...told, value: uuidv7() }, undefined, BUSY_AGAIN);
    if (isNew) busy({ connectionName: connection.name, queue, size, wait, limit });
  }
}
