/**
 * Samples once a minute how long each queue is and how long its jobs wait, for all processes: the first one to ask in a minute
 * does it, without electing a leader. Among processes with the same limits, the first one reports queues that are too long or too
 * slow.
 */
import { hash } from 'node:crypto';
import type { Milliseconds, Seconds } from '../../base/clock';
import type { Connection, Counts } from '../../connections/contract';
import { isStoreAway } from '../../connections/errors';
import type { BusyEvent } from '../../job/hook-events';
import { uuidv7 } from '../../payload/uuid';
import { MINUTES, spanAt, WHOLE_QUEUE } from './figure-names';
import type { JobCounts } from './job-counts';
import { forgetIdleQueues } from '../idle-queues';
import { oldestWait } from '../oldest-wait';
import type { OperationsConnection } from '../operations-connection';
import type { CheckedLimit, QueueLimits } from './queue-monitors';

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
    if (minute === this.#minute || !connection.capabilities.counts) return;
    this.#minute = minute;
    const watched = limits();
    const turn = `${connection.name}/${minute}`;
    const samples = await this.#isFirst(turn);
    // Other programs may share the store, and have no limits or different ones.
    const judges = watched.size > 0 && (await this.#isFirst(`${turn}/${textOf(watched)}`));
    const queues = new Set([
      ...(samples || judges ? watched.keys() : []),
      ...(samples ? await connection.queues() : []),
    ]);
    // One after the other, so that jobs come first.
    let failed: { readonly error: unknown } | undefined;
    for (const queue of [...queues].slice(0, MOST_QUEUES)) {
      try {
        const { counts, wait } = await this.#look(queue, now);
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

  async #look(queue: string, now: Milliseconds): Promise<{ counts: Counts; wait: Seconds | undefined }> {
    const { connection } = this.#parts;
    const counts = await connection.counts(queue);
    return { counts, wait: await oldestWait(connection, queue, counts, now) };
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
