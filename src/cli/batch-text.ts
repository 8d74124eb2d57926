/** What the commands for batches share: how they open the project, and how they show a batch. */
import { oneLine } from '../base/plain-text';
import type { QueueManager } from '../application/queue-manager';
import type { Batch } from '../dispatch/batch/batch';
import { stateOf } from '../dispatch/batch/batch-document';
import type { Call } from './command';
import { CONNECTION, type Given, type ProjectFlags } from './flags';
import { noteMemory } from './named-queues';
import { doneText, type Pace, type Progress, progressLine } from './progress';
import { counted } from './table';

export const BATCH_FLAGS = { connection: CONNECTION };

export const BATCH_WORD = ['<id>', 'the id of the batch, as listed by onqueue batches'] as const;

export type BatchFlags = Given<typeof BATCH_FLAGS> & ProjectFlags;

/** Opens the project for the batches of one connection. */
export async function openForBatches(call: Call<BatchFlags>): Promise<QueueManager> {
  const manager = await call.open();
  noteMemory(call, manager, [call.flags.connection]);
  return manager;
}

export function failUnknownBatch(call: Call<BatchFlags>, manager: QueueManager, id: string): void {
  const { name } = manager.connection(call.flags.connection);
  call.fail(
    `There is no batch '${id}' on ${name}: finished ones are kept for a day. onqueue batches lists the others.`,
  );
}

/** `50% of 20` */
export function progressText(batch: Batch): string {
  return doneText(progressOf(batch));
}

/** `10 pending, 8 completed, 1 failed, 1 skipped` */
export function countsText({ pending, completed, failed, skipped }: Batch): string {
  return Object.entries({ pending, completed, failed, skipped })
    .map(([word, count]) => `${numberText(count)} ${word}`)
    .join(', ');
}

/** `sheets, 20 jobs` */
export function titleOf({ name, id, total }: Batch): string {
  return `the batch ${oneLine(name) || id} (${counted(total, 'job')})`;
}

/** `[####----] 50% of 20, 1 failed, 3/s, 3s left`, in fewer columns than `room`. */
export function watchLine(batch: Batch, pace: Pace, room: number): string {
  const { failed, skipped } = batch;
  const state = stateOf(batch);
  const progress = progressOf(batch);
  const facts = [
    doneText(progress),
    ...(failed > 0 ? [`${numberText(failed)} failed`] : []),
    ...(skipped > 0 ? [`${numberText(skipped)} skipped`] : []),
    ...(state === 'running' ? [] : [state]),
    ...pace.facts(progress),
  ];
  return progressLine('', progress, facts, room);
}

function progressOf({ total, pending }: Batch): Progress {
  return { done: total - pending, total };
}

function numberText(count: number): string {
  return count.toLocaleString('en-US');
}
