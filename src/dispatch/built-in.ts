/** The jobs that are part of Onqueue: `Carry` and `Seal`. They are retried until they succeed. */
import { declareJob } from '../job/declare';
import { registry, type JobRegistry } from '../job/registry';
import type { Class } from '../base/class';
import { encodePayload } from '../payload/payload-text';
import { toError } from '../base/exception-text';
import { currentApplication } from '../connections/application';
import { callbackParts, callbackPayload, progressNumber } from '../connections/batch-store';
import { sendOnward, followUpEvent, type Onward } from '../connections/entries';
import { inject } from '../container/scope';
import { JobContext } from '../job/job-context';
import { CARRIER } from '../payload/chain';
import { uuidv7 } from '../payload/uuid';
import type { Seconds } from '../base/clock';
import { batchIncomplete } from './errors';

const OPTIONS = { tries: 0, timeout: 0, backoff: { exponential: '1s', max: '1m' } } as const;

/** Not called when a module is loaded: a second version of Onqueue is reported by its first job. */
export function declareBuiltIn(target: Class, name: string): void {
  if (registry().definitionOf(target) === undefined)
    declareJob(target, { name, ...OPTIONS }, declareBuiltIn, 'built-in');
}

/** Without size limits and additional fields: an error here would fail a job that has already completed. */
export function builtInText(job: object, id: string, classes: JobRegistry): string {
  return encodePayload({ definition: classes.definitionOf(job.constructor)!, job, chosen: {}, id, classes });
}

/**
 * The carrier: a step that records a job's end, but cannot reach another store, queues this job instead, which then sends the
 * other one. It is retried until it succeeds, also by workers that do not know the other connection.
 */
export class Carry {
  readonly onward: Onward;

  constructor(onward: Onward) {
    this.onward = onward;
  }

  async handle(): Promise<void> {
    const application = currentApplication()!;
    const job = inject(JobContext);
    const target = application.driver(this.onward.connection);
    try {
      // A progress is sent again, under the same id, if a failed job of its batch is retried.
      const key = progressNumber(job.id) === undefined ? `carry ${job.id}` : undefined;
      const entry = await sendOnward(application, told(this.onward, job), key);
      const event = application.hooks.hears.queued ? followUpEvent(this.onward, entry) : undefined;
      // Not awaited: a hook that hangs must not make it send the job again.
      if (event !== undefined) void application.hooks.emit('queued', event);
    } catch (error) {
      if (target.capabilities.reserve) throw error;
      // The job ran within its push; its failure is no reason to run it again. Retrying the carrier retries the job.
      job.fail(toError(error));
    }
  }
}

/** Passes on what a batch told the carrier: it is meant for the carried job. Each progress callback gets an id of its own. */
function told(onward: Onward, { id, cause }: JobContext): Onward {
  const number = progressNumber(id);
  if (cause === undefined && number === undefined) return onward;
  const payload = callbackPayload(callbackParts(onward.entry.payload), cause, number);
  return { ...onward, entry: { ...onward.entry, payload } };
}

export function carrierText(onward: Onward, classes: JobRegistry): string {
  declareBuiltIn(Carry, CARRIER);
  return builtInText(new Carry(onward), uuidv7(), classes);
}

/** Seconds that one call, or the pause between two, may take. */
export const OPEN_FOR: Seconds = 60;

/**
 * For how long it is known that the last page is in: a seal may wait behind many jobs, or for a worker.
 */
export const LAST_KEPT: Seconds = 86_400;

/** @param page `last`: once it is used, all of the batch is in */
export const pageKey = (batch: string, page: number | 'last'): string => `batch ${batch} ${page}`;

export const SEAL = 'onqueue:seal';

/**
 * Queued with the first jobs of a batch that takes several calls, and due when its sender has been silent for too long. Then the
 * sender has died, and the batch would never end. If its last page is in, it only ends; otherwise it is cancelled as well.
 */
export class Seal {
  readonly batch: string;
  /** The number of its jobs, if known. */
  readonly total: number | undefined;

  constructor(batch: string, total: number | undefined) {
    this.batch = batch;
    this.total = total;
  }

  async handle(): Promise<void> {
    const { batch: id, total } = this;
    const job = inject(JobContext);
    const { queue } = job;
    const connection = currentApplication()!.driver(job.connectionName);
    const batch = await connection.batches?.find(id, queue);
    if (batch?.openUntil === undefined) return;
    // Only a look: nothing is pushed so late.
    const isComplete =
      (await connection.keys!.pushOnce({ queue, entries: [] }, { key: pageKey(id, 'last'), until: 0 })) === 'before';
    if (isComplete) return void (await connection.batches?.seal(id, queue));
    const { name, pending, completed, failed, skipped } = batch;
    const { code, message } = batchIncomplete(id, pending + completed + failed + skipped, total);
    const sealed = await connection.batches?.seal(id, queue, { id, name, message: `${code}: ${message}` });
    // More jobs have come meanwhile, or will come.
    if (sealed !== true) job.defer(OPEN_FOR);
  }
}

export function sealText(id: string, batch: string, total: number | undefined, classes: JobRegistry): string {
  declareBuiltIn(Seal, SEAL);
  return builtInText(new Seal(batch, total), id, classes);
}
