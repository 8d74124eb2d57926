/**
 * The check after each run: every dispatched job is completed once, has failed, or is still in the store. It ran again
 * only if one of its runs was cut off, and refused or given-back runs have not counted.
 */
import { DEFAULT_MAX_CRASHES } from '../../../src/job/resolve-options';
import type { LedgerLine } from './ledger';

/** What the store contains at the end. */
export interface Holdings {
  /** Ids of the ready, delayed and reserved jobs. */
  readonly waiting: ReadonlySet<string>;
  /** Ids of the failed jobs with their crashes. */
  readonly failed: ReadonlyMap<string, number>;
}

export interface Expectations {
  /** Dispatches that the store has confirmed. */
  readonly dispatched: readonly string[];
  /** Jobs whose dispatch ended without an answer. They may exist or not. */
  readonly uncertain?: readonly string[] | undefined;
  /** Processes that were killed, frozen or cut off from the store. Their jobs may run again elsewhere. */
  readonly disturbed?: ReadonlySet<number> | undefined;
  /** Whether no job ever threw. Then each run must be the first that counts, and only poison fails. Default: true. */
  readonly firstTries?: boolean | undefined;
}

export interface Account {
  readonly dispatched: number;
  readonly completed: number;
  readonly failed: number;
  readonly waiting: number;
  readonly lost: number;
  /** Further runs of jobs whose earlier run was cut off. */
  readonly again: number;
  /** Outcomes that the store refused because another worker had the job. */
  readonly refused: number;
  /** What must not happen, with the affected jobs. The first few of each kind. */
  readonly offences: readonly string[];
}

interface Run {
  readonly pid: number;
  readonly fence: number;
  readonly attempts: number;
  done: boolean;
  outcome?: string;
}

const OUTCOMES = new Set<string>(['completed', 'released', 'failed', 'cancelled', 'lost']);
const SHOWN = 3;

export function account(lines: readonly LedgerLine[], holdings: Holdings, expected: Expectations): Account {
  const runs = runsOf(lines);
  const offences = new Offences();
  const disturbed = expected.disturbed ?? new Set();
  const known = new Set([...expected.dispatched, ...(expected.uncertain ?? [])]);
  const totals = { completed: 0, failed: 0, waiting: 0, lost: 0, again: 0, refused: 0 };

  for (const id of known) {
    const ofJob = runs.get(id) ?? [];
    const last = ofJob.at(-1);
    const confirmed = ofJob.filter(({ outcome }) => outcome === 'completed').length;
    // Killed between the store's answer and its own line: a job in no state of the store was settled.
    const isDone = confirmed > 0 || (last?.done === true && !holdings.waiting.has(id) && !holdings.failed.has(id));
    const places = [isDone, holdings.failed.has(id), holdings.waiting.has(id)].filter(Boolean).length;
    if (isDone) totals.completed += 1;
    if (holdings.failed.has(id)) totals.failed += 1;
    if (holdings.waiting.has(id)) totals.waiting += 1;
    if (places === 0 && (ofJob.length > 0 || !expected.uncertain?.includes(id))) {
      totals.lost += 1;
      offences.add('is lost', id, ofJob);
    }
    if (places > 1) offences.add('is in two places', id, ofJob);
    if (confirmed > 1) offences.add('was completed twice', id, ofJob);
    totals.refused += ofJob.filter(({ outcome }) => outcome === 'lost').length;
    ofJob.slice(0, -1).forEach((run, index) => {
      if (run.outcome !== 'released') totals.again += 1;
      if (ofJob[index + 1]!.fence <= run.fence) offences.add('ran twice under one fence', id, ofJob);
      if (run.outcome === 'completed' || run.outcome === 'failed') offences.add('ran after its end', id, ofJob);
      else if (run.outcome !== 'released' && !disturbed.has(run.pid))
        offences.add('ran again without cause', id, ofJob);
    });
    if (expected.firstTries !== false && holdings.failed.get(id)! < DEFAULT_MAX_CRASHES) {
      offences.add('failed without cause', id, ofJob);
    }
    if (expected.firstTries !== false && ofJob.some(({ attempts }) => attempts !== 1)) {
      offences.add('lost a try to a crash or a stop', id, ofJob);
    }
  }
  for (const id of runs.keys()) if (!known.has(id)) offences.add('ran and was never dispatched', id, runs.get(id)!);
  return { dispatched: known.size, ...totals, offences: offences.texts };
}

/** The lines by job, in the order of their fences, because lines of two processes may come in any order. */
function runsOf(lines: readonly LedgerLine[]): Map<string, Run[]> {
  const runs = new Map<string, Run[]>();
  for (const { event, id, pid, fence, attempts } of lines) {
    if (event === 'started') {
      const ofJob = runs.get(id) ?? [];
      runs.set(id, [...ofJob, { pid, fence, attempts, done: false }]);
      continue;
    }
    const own = runs.get(id)?.filter((one) => one.pid === pid && one.outcome === undefined) ?? [];
    const run = own.find((one) => one.fence === fence) ?? own.at(-1);
    if (run === undefined) continue;
    if (event === 'done') run.done = true;
    else if (OUTCOMES.has(event)) run.outcome = event;
  }
  for (const ofJob of runs.values()) ofJob.sort((one, other) => one.fence - other.fence);
  return runs;
}

class Offences {
  readonly #byKind = new Map<string, string[]>();

  add(kind: string, id: string, runs: readonly Run[]): void {
    const told = runs.map(
      ({ pid, fence, attempts, done, outcome }) =>
        `fence ${fence}, attempt ${attempts}, process ${pid}: ${outcome ?? (done ? 'done, not settled' : 'cut off')}`,
    );
    this.#byKind.set(kind, [...(this.#byKind.get(kind) ?? []), `${id} ${kind} (${told.join('; ') || 'it never ran'})`]);
  }

  get texts(): string[] {
    return [...this.#byKind].flatMap(([kind, all]) => [
      ...all.slice(0, SHOWN),
      ...(all.length > SHOWN ? [`… and ${all.length - SHOWN} more: ${kind}`] : []),
    ]);
  }
}
