/**
 * The report about an event loop that stands still: which jobs caused it, what happened to them, and where in the code it
 * was.
 */
import type { SettleResult } from '../../../connections/contract';
import type { HeldJob } from '../../supervisor/supervision';

/** At most this many jobs are named. */
const NAMED = 5;

export interface BlockedFacts {
  readonly pid: number;
  /** The job whose code blocks the event loop. Undefined if that is unknown. */
  readonly blocker: HeldJob | undefined;
  readonly overdue: readonly HeldJob[];
  /** The store's answers to the timeouts, in the order of `overdue`; the jobs after the last one got no answer. */
  readonly results: readonly SettleResult[];
  /** Why answers are missing. */
  readonly why: string | undefined;
  /** Undefined if the process goes on. */
  readonly end: BlockedEnd | undefined;
  /** Innermost first. Undefined if the stack is out of reach. */
  readonly frames: readonly string[] | undefined;
}

export interface BlockedEnd {
  /** Jobs that were given back. */
  readonly returned: number;
  /** Jobs without an answer of the store. */
  readonly left: number;
}

export function blockedAccount({ pid, blocker, overdue, results, why, end, frames }: BlockedFacts): string {
  const isAlone = overdue.length === 1 && overdue[0]!.id === blocker?.id;
  const where = blocker === undefined || isAlone ? '' : ` in ${nameOf(blocker)},`;
  const names = overdue.slice(0, NAMED).map(nameOf);
  if (overdue.length > NAMED) names.push(`${overdue.length - NAMED} more`);
  const place =
    frames === undefined
      ? ' It waits in native code, such as execSync().'
      : frames.map((frame) => `\n    at ${frame}`).join('');
  return (
    `The event loop of process ${pid} stands still${where} past timeout and grace of ${names.join(', ')}: ` +
    `${fateOf(overdue.length, results, why)}. ${endOf(end)} Put such work into a worker thread or a process.${place}`
  );
}

function fateOf(jobs: number, results: readonly SettleResult[], why: string | undefined): string {
  const lost = results.filter((result) => result === 'lost').length;
  const fates: [count: number, fate: string][] = [
    [results.length - lost, 'recorded as timed out'],
    [lost, 'not recorded, because the lease was lost before'],
    [jobs - results.length, `not recorded (${why})`],
  ];
  const met = fates.filter(([count]) => count > 0);
  return met.map(([count, fate]) => (met.length === 1 ? fate : `${count} ${fate}`)).join(', ');
}

function endOf(end: BlockedEnd | undefined): string {
  if (end === undefined) return 'The worker goes on when its event loop does.';
  const left = end.left === 0 ? '' : `; jobs that run again when their leases end: ${end.left}`;
  return `The process ends; other jobs that went back at no cost in tries: ${end.returned}${left}.`;
}

const nameOf = ({ job, id }: HeldJob): string => (id === '' ? job : `${job} ${id}`);
