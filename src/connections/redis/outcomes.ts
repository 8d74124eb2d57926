/** Outcomes as `lua/exchange.lua` takes them: groups of one kind on one queue, and in front of each outcome what follows it. */
import { groupsOf } from '../../base/groups';
import { countersTail, readCounters } from '../../payload/counters';
import { readTies } from '../../payload/ties';
import type { FollowUp, Settlement } from '../contract';
import { changeBy } from '../kit/batch-counts';
import { nextOf } from '../kit/settling';
import { tieOf } from './entries';
import { failureMeta } from './failed-meta';
import { whenOf } from './lane';

export type Argument = string | number | Buffer;

export interface Outcomes {
  /** The places of the settlements, as they are written. */
  readonly order: readonly number[];
  readonly args: readonly Argument[];
}

/** What is written of a settlement. */
interface Outcome {
  /** What the script calls it, with what it has beside: `completed+next+unique`. */
  readonly kind: string;
  /** What follows it in groups of its own. */
  readonly next: readonly FollowUp[];
  /** What stands beside it: the text of the job that follows it, its unique key and its id, why it failed. */
  readonly beside: readonly Argument[];
  /** What stands at the head of its group: its batch, and by how much each outcome changes the numbers of that. */
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
    // Those that are settled in its group would be settled one by one.
    if (next.length > 0) lastGroup = undefined;
  }
  return { order, args };
}

const NONE: readonly never[] = [];
const COMPLETED: Outcome = { kind: 'completed', next: NONE, beside: NONE, change: NONE };
const PLAIN = {
  completed: COMPLETED,
  // To the store the two are one: the job is gone, and so is a mark that it was cancelled.
  cancelled: COMPLETED,
  failed: { kind: 'failed', next: NONE, beside: NONE, change: NONE },
  released: { kind: 'released', next: NONE, beside: NONE, change: NONE },
} satisfies Readonly<Record<Settlement['outcome'], Outcome>>;

function outcomeOf(settlement: Settlement): Outcome {
  const { outcome, reservation } = settlement;
  const plain = PLAIN[outcome];
  // A script that takes a job back finds for itself what it counts in.
  if (outcome === 'released') return plain;
  const next = nextOf(settlement);
  const tied = readTies(reservation.payload);
  if (next.length === 0 && tied?.unique === undefined && tied?.batch === undefined) return plain;
  let { kind }: Outcome = plain;
  const beside: Argument[] = [];
  const isBeside = outcome === 'completed' && next.length === 1 && isReadyIn(reservation.queue, next[0]!);
  if (isBeside) {
    kind += '+next';
    beside.push(next[0]!.entry.payload);
  }
  if (tied?.unique !== undefined) {
    kind += '+unique';
    // The bytes of the id, which was read as Latin-1.
    const [key, tie] = tieOf(tied.unique, tied.id);
    beside.push(key, Buffer.from(tie, 'latin1'));
  }
  let change: readonly Argument[] = NONE;
  if (tied?.batch !== undefined) {
    kind += '+batch';
    const { pending = 0, completed = 0, failed = 0, skipped = 0 } = changeBy(tied.batch, settlement);
    change = [tied.batch.id, pending, completed, failed, skipped];
    if (outcome === 'failed') beside.push(settlement.cause === undefined ? '' : JSON.stringify(settlement.cause));
  }
  return { kind, next: isBeside ? NONE : next, beside, change };
}

/** As nearly every link of a chain is. */
function isReadyIn(own: string, { queue, entry }: FollowUp): boolean {
  return queue === own && (entry.delay ?? 0) <= 0 && entry.dueAt === undefined;
}

/**
 * In which order outcomes are written: those of a kind together, as each group costs a look of its own where there is more to its
 * outcomes; and last those that go to the head of their queue, as each is put before all others.
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
  if (settlement.outcome === 'failed') args.push(settlement.failure.id, failureMeta(settlement.failure));
  else args.push(settlement.front ? 'front' : whenOf(settlement.delay, settlement.dueAt));
}

function bodyEndOf(payload: Buffer): number {
  return readCounters(payload)?.bodyEnd ?? payload.lastIndexOf('}');
}
