/**
 * Queued with the first jobs of a batch that takes several calls, and due when its sender has been silent for too long. Then the
 * sender has died, and the batch would never end. If its last page is in, it only ends; otherwise it is cancelled as well.
 */
import type { Seconds } from '../../base/clock';
import { currentApplication } from '../../connections/application';
import { inject } from '../../container/scope';
import { JobContext } from '../../job/job-context';
import type { JobRegistry } from '../../job/registry';
import { pageKey } from '../batch/page-once';
import { batchIncomplete } from '../errors';
import { builtInText, declareBuiltIn } from './declare-built-in';

/** Seconds that one call, or the pause between two, may take. */
export const OPEN_FOR: Seconds = 60;

/**
 * For how long it is known that the last page is in: a seal may wait behind many jobs, or for a worker.
 */
export const LAST_KEPT: Seconds = 86_400;

const SEAL = 'onqueue:seal';

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
      (await connection.pushOnce!({ queue, entries: [] }, { key: pageKey(id, 'last'), until: 0 })) === 'before';
    if (isComplete) return void (await connection.batches?.seal(id, queue));
    const { name, pending, completed, failed, skipped } = batch;
    const { code, message } = batchIncomplete(id, pending + completed + failed + skipped, total);
    const sealed = await connection.batches?.seal(id, queue, { id, name, message: `${code}: ${message}` });
    // More jobs have come meanwhile, or will come.
    if (sealed !== true) job.defer(OPEN_FOR);
  }
}

export function declareSeal(): void {
  declareBuiltIn(Seal, SEAL);
}

export function sealText(id: string, batch: string, total: number | undefined, classes: JobRegistry): string {
  declareSeal();
  return builtInText(new Seal(batch, total), id, classes);
}
