/**
 * The arguments of `lua/exchange.lua` for outcomes: groups of one kind on one queue, and before each outcome the jobs that
 * follow it.
 */
import { groupsOf } from '../../base/groups';
import { countersTail, readCounters } from '../../payload/counters';
import { readTies } from '../../payload/ties';
import type { FollowUp, Settlement } from '../contract';
import { changeBy } from '../kit/batch-counts';
import { nextOf } from '../kit/connection';
import { tieOf } from './entries';
import { metaLine } from './failed-meta';
import { whenOf } from './lane';

export type Argument = string | number | Buffer;

export interface Outcomes {
  /** The indexes of the settlements, in the order written. */
  readonly order: readonly number[];
  readonly args: readonly Argument[];
}

/** What is written for a settlement. */
interface Outcome {
  /** Its name in the script, including what accompanies it: `completed+next+unique`. */
  readonly kind: string;
  /** The jobs that follow it, in groups of their own. */
  readonly next: readonly FollowUp[];
  /** Its extra arguments: the text of a job that follows it, its unique key and id, why it failed. */
  readonly beside: readonly Argument[];
  /** Arguments at the head of its group: its batch, and by how much each outcome changes the batch's numbers. */
  readonly change: readonly Argument[];
}

/** Adds to `queues` those that are only written to. */
export function outcomesOf(settlements: readonly Settlement[], queues: string[]): Outcomes {
  const outcomes = settlements.map(outcomeOf);
  const order = orderOf(settlements, outcomes);
  const args: Argument[] = [];
  let count = 0;
  let countAt = -1;
  let [lastGroup, lastQueue]: (string | undefined)[] = [];
  const begin = (kind: string, change: readonly Argument[], queue: string): void => {
    const group = change.length === 0 ? kind : `${kind} ${change.join(' ')}`;
    if (group !== lastGroup || queue !== lastQueue) {
      if (!queues.includes(queue)) queues.push(queue);
      countAt = args.push(kind, queues.indexOf(queue) + 1, (count = 0), ...change) - 1 - change.length;
      [lastGroup, lastQueue] = [group, queue];
    }
    args[countAt] = count += 1;
  };
  for (const at of order) {
    const { kind, next, beside, change } = outcomes[at]!;
    for (const { queue, entry } of next) {
      begin('next', NONE, queue);
      args.push(whenOf(entry.delay ?? 0, entry.dueAt), entry.payload);
    }
    begin(kind, change, settlements[at]!.reservation.queue);
    pushArguments(args, settlements[at]!);
    args.push(...beside);
    // Later outcomes in the same group would be settled one by one.
    if (next.length > 0) lastGroup = undefined;
  }
  return { order, args };
}

const NONE: readonly never[] = [];
const COMPLETED: Outcome = { kind: 'completed', next: NONE, beside: NONE, change: NONE };
const PLAIN = {
  completed: COMPLETED,
  // For the store both are the same: the job is gone, and so is a mark that it was cancelled.
  cancelled: COMPLETED,
  failed: { kind: 'failed', next: NONE, beside: NONE, change: NONE },
  released: { kind: 'released', next: NONE, beside: NONE, change: NONE },
} satisfies Readonly<Record<Settlement['outcome'], Outcome>>;

function outcomeOf(settlement: Settlement): Outcome {
  const { outcome, reservation } = settlement;
  const plain = PLAIN[outcome];
  // When a script returns a job to its queue, it finds the job's ties itself.
  if (outcome === 'released' && settlement.frees !== true) return plain;
  const next = nextOf(settlement);
  const tied = readTies(reservation.payload);
  const batch = outcome === 'released' ? undefined : tied?.batch;
  if (next.length === 0 && tied?.unique === undefined && batch === undefined) return plain;
  let { kind }: Outcome = plain;
  const beside: Argument[] = [];
  const isBeside = outcome === 'completed' && next.length === 1 && isReadyIn(reservation.queue, next[0]!);
  if (isBeside) {
    kind += '+next';
    beside.push(next[0]!.entry.payload);
  }
  if (tied?.unique !== undefined) {
    kind += '+unique';
    // The id was read as Latin-1; these are its bytes.
    const [key, tie] = tieOf(tied.unique, tied.id);
    beside.push(key, Buffer.from(tie, 'latin1'));
  }
  let change: readonly Argument[] = NONE;
  if (batch !== undefined) {
    kind += '+batch';
    const { pending = 0, completed = 0, failed = 0, skipped = 0 } = changeBy(batch, settlement);
    change = [batch.id, pending, completed, failed, skipped];
    if (outcome === 'failed') beside.push(settlement.cause === undefined ? '' : JSON.stringify(settlement.cause));
  }
  return { kind, next: isBeside ? NONE : next, beside, change };
}

/** As nearly every link of a chain is. */
function isReadyIn(own: string, { queue, entry }: FollowUp): boolean {
  return queue === own && (entry.delay ?? 0) <= 0 && entry.dueAt === undefined;
}

/**
 * The order in which outcomes are written: those of a kind together, because a group that has more than plain outcomes costs
 * a lookup; and last the jobs that go to the head of their queue, because each is put before all others.
 */
function orderOf(settlements: readonly Settlement[], outcomes: readonly Outcome[]): readonly number[] {
  const places = settlements.map((_, at) => at);
  if (outcomes.every((outcome) => outcome === COMPLETED)) return places;
  const groups = groupsOf(places, (at) => {
    const { kind, next, change } = outcomes[at]!;
    const { queue } = settlements[at]!.reservation;
    return isFirst(settlements[at]!) ? '' : `${kind} ${change.join(' ')} ${next.length > 0} ${queue}`;
  });
  const { '': first = NONE, ...others } = Object.fromEntries(groups);
  return [...Object.values(others).flat(), ...first.toReversed()];
}

function isFirst(settlement: Settlement): boolean {
  return settlement.outcome === 'released' && settlement.front === true;
}

function pushArguments(args: Argument[], settlement: Settlement): void {
  const { payload } = settlement.reservation;
  args.push(payload);
  if (settlement.outcome === 'completed' || settlement.outcome === 'cancelled') return;
  args.push(bodyEndOf(payload), countersTail(settlement.counters));
  if (settlement.outcome === 'failed') args.push(settlement.failure.id, metaLine(settlement.failure));
  else args.push(settlement.front ? 'front' : whenOf(settlement.delay, settlement.dueAt));
}

function bodyEndOf(payload: Buffer): number {
  return readCounters(payload)?.bodyEnd ?? payload.lastIndexOf('}');
}
