/**
 * How a batch changes when its jobs are added or end: for stores that compute this here, and the model for those that do so
 * in a script.
 */
import type { Milliseconds } from '../../base/clock';
import type { FailedLink } from '../../job/job-context';
import type { BatchTie } from '../../payload/ties';
import {
  callbackPayload,
  type BatchCallback,
  type BatchCallbacks,
  type BatchEnd,
  type BatchEvent,
  type BatchState,
  type NewBatch,
} from '../batch-store';
import type { FollowUp, Settlement } from '../contract';
import { nextOf } from './connection';

export interface KeptBatch extends BatchState, BatchCallbacks, Pick<NewBatch, 'openFor'> {}

type BatchNumbers = Pick<BatchState, 'pending' | 'completed' | 'failed' | 'skipped'>;

/** How much the numbers of a batch change. */
export interface BatchChange extends Partial<BatchNumbers> {
  readonly cause?: FailedLink | undefined;
  /**
   * Whoever sent its jobs died before it was sealed: nothing has failed, but `catch` is sent with this cause all the same.
   */
  readonly abandoned?: FailedLink | undefined;
}

export interface BatchStep {
  readonly batch: KeptBatch;
  /** The jobs to send in the same step. */
  readonly followUps: readonly FollowUp[];
}

/** The state without the callbacks. */
export function stateOf(batch: KeptBatch): BatchState {
  const { callbacks: _, every: __, openFor: ___, sent: ____, ...state } = batch;
  return state;
}

export function newlyKept(batch: NewBatch, now: Milliseconds): KeptBatch {
  const openUntil = batch.openFor === undefined ? undefined : now + batch.openFor * 1000;
  return { ...batch, pending: 0, completed: 0, failed: 0, skipped: 0, createdAt: now, openUntil, sent: [] };
}

/** Why the batch takes no more jobs. Undefined if it does. A batch that has ended does not start again. */
export function endOf(batch: KeptBatch | undefined): BatchEnd | undefined {
  if (batch === undefined) return 'unknown';
  if (batch.cancelledAt !== undefined) return 'cancelled';
  return batch.finishedAt === undefined ? undefined : 'finished';
}

/** How a batch changes, and what it sends because of it. Undefined: not at all. */
export type Rule = (batch: KeptBatch, now: Milliseconds) => BatchStep | undefined;

const silently = (batch: KeptBatch | undefined): BatchStep | undefined => batch && { batch, followUps: [] };

/** Jobs were put into their queues. */
export const joined =
  (ties: readonly (BatchTie | undefined)[]): Rule =>
  (batch, now) =>
    changedBatch(heldBatch(batch, now) ?? batch, { pending: weightIn(batch.id, ties) }, now);

/** Jobs come after their batch was cancelled: only if it is still open. */
export const skipped =
  (ties: readonly (BatchTie | undefined)[]): Rule =>
  (batch, now) =>
    batch.cancelledAt === undefined || batch.openUntil === undefined
      ? undefined
      : changedBatch(batch, { skipped: weightIn(batch.id, ties) }, now);

export const changed =
  (change: BatchChange): Rule =>
  (batch, now) =>
    changedBatch(batch, change, now);

/** Somebody cancels it: only if it has not ended. */
export const cancelled: Rule = (batch, now) =>
  silently(endOf(batch) === undefined ? cancelledBatch(batch, now) : undefined);

/** Its sender is at work: only if it is open. */
export const held: Rule = (batch, now) => silently(heldBatch(batch, now));

/** Only if it was not sealed before. @param abandoned undefined also seals a batch that has time left */
export const sealed =
  (abandoned: FailedLink | undefined): Rule =>
  (batch, now) => {
    if (batch.openUntil === undefined || (abandoned !== undefined && batch.openUntil > now)) return undefined;
    const closed = { ...batch, openUntil: undefined };
    return changedBatch(abandoned === undefined ? closed : cancelledBatch(closed, now), { abandoned }, now);
  };

/**
 * The retry of a failed job: it counts as pending again, with the links behind it, even if the batch was cancelled or had
 * finished.
 */
export const retried =
  (weight: number): Rule =>
  (batch) => {
    const open = { ...batch, cancelledAt: undefined, finishedAt: undefined };
    const counts = { pending: weight, failed: -1, skipped: 1 - weight };
    return silently({ ...open, ...added(open, counts) });
  };

function cancelledBatch(batch: KeptBatch, now: Milliseconds): KeptBatch {
  return { ...batch, cancelledAt: batch.cancelledAt ?? now };
}

/** Postpones the moment when the batch counts as abandoned. Undefined if it is not open. */
function heldBatch(batch: KeptBatch, now: Milliseconds): KeptBatch | undefined {
  const { openUntil, openFor = 0 } = batch;
  return openUntil === undefined ? undefined : { ...batch, openUntil: now + openFor * 1000 };
}

/** How the end of a job changes its batch. @param settlement absent: the job was removed */
export function changeBy({ id, weight }: BatchTie, settlement?: Settlement): BatchChange {
  if (settlement?.outcome !== 'completed' && settlement?.outcome !== 'failed') {
    return { pending: -weight, skipped: weight };
  }
  const next = nextOf(settlement).map(({ entry }) => entry.ties?.batch);
  const pending = weightIn(id, next) - weight;
  if (settlement.outcome === 'completed') return { pending, completed: 1 };
  return { pending, failed: 1, skipped: weight - 1, cause: settlement.cause };
}

/** The weight of those that belong to the batch. */
function weightIn(id: string, ties: readonly (BatchTie | undefined)[]): number {
  return ties.reduce((sum, tie) => (tie?.id === id ? sum + tie.weight : sum), 0);
}

/** Both changes together. */
export function sumOf(one: BatchChange = {}, other: BatchChange): BatchChange {
  return { ...added(one, other), cause: one.cause ?? other.cause };
}

function added(one: Partial<BatchNumbers>, other: Partial<BatchNumbers>): BatchNumbers {
  return {
    pending: (one.pending ?? 0) + (other.pending ?? 0),
    completed: (one.completed ?? 0) + (other.completed ?? 0),
    failed: (one.failed ?? 0) + (other.failed ?? 0),
    skipped: (one.skipped ?? 0) + (other.skipped ?? 0),
  };
}

export function changedBatch(before: KeptBatch, change: BatchChange, now: Milliseconds): BatchStep {
  const batch = { ...before, ...added(before, change) };
  const events: BatchEvent[] = [];
  const hasFailed = batch.failed > before.failed;
  if (hasFailed || change.abandoned !== undefined) events.push('catch');
  if (hasFailed && !batch.allowsFailures) batch.cancelledAt ??= now;
  const { every = Infinity } = batch;
  const number = Math.floor(endedOf(batch) / every) * every;
  if (number > endedOf(before)) events.push('progress');
  if (batch.pending === 0 && batch.openUntil === undefined && batch.finishedAt === undefined) {
    batch.finishedAt = now;
    events.push(...eventsAtEnd(batch));
  }
  const due = events.filter((event) => event === 'progress' || !batch.sent.includes(event));
  const followUps = due.flatMap((event) =>
    batch.callbacks
      .filter(({ on }) => on === event)
      .map((callback) => followUpOf(callback, change.cause ?? change.abandoned, number)),
  );
  return { batch: { ...batch, sent: [...batch.sent, ...due.filter((event) => event !== 'progress')] }, followUps };
}

const endedOf = ({ completed, failed, skipped }: BatchState): number => completed + failed + skipped;

function eventsAtEnd({ failed, skipped, cancelledAt, allowsFailures }: BatchState): readonly BatchEvent[] {
  const haveCompleted = failed + skipped === 0;
  if (cancelledAt !== undefined) return ['finally'];
  const events: BatchEvent[] = haveCompleted ? ['then', 'finally'] : ['finally'];
  return haveCompleted || allowsFailures ? [...events, 'next'] : events;
}

function followUpOf(callback: BatchCallback, cause: FailedLink | undefined, number: number): FollowUp {
  const { on, queue, delay, dueAt } = callback;
  const payload = callbackPayload(callback, on === 'catch' ? cause : undefined, on === 'progress' ? number : undefined);
  return { queue, entry: { payload, delay, dueAt } };
}
