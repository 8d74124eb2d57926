/**
 * What belongs to an instance of a job without being a property, because properties are data, and travel: what its dispatch chose, its
 * run, and the batch that it was put into.
 */
import type { Milliseconds } from '../base/clock';
import type { Delay } from './duration';
import type { JobContext } from './job-context';
import type { Middleware } from './middleware';

export interface InstanceChoice {
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
  readonly delay?: Delay | undefined;
  readonly middleware?: readonly Middleware[] | undefined;
  /** Only for a dispatch. */
  readonly chain?: ChosenChain | undefined;
  /** The batch that the job belongs to. Only for a dispatch. */
  readonly batch?: { readonly id: string; readonly weight: number } | undefined;
  /** The occurrence that the job is sent for. Only for a schedule. */
  readonly occurrence?: ChosenOccurrence | undefined;
}

export interface ChosenOccurrence {
  readonly schedule: string;
  readonly at: Milliseconds;
  /** All senders use the same id. Undefined if the job is sent by hand. */
  readonly id?: string | undefined;
  /** Held until the job ends, if the job has no unique key of its own. */
  readonly key?: string | undefined;
}

/** The jobs that follow. */
export interface ChosenChain {
  readonly links: readonly object[];
  /** Sent when a job of the chain, including the first, has failed for good. */
  readonly caught?: object | undefined;
  /** For jobs that choose none themselves. */
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
}

const NOTHING: InstanceChoice = Object.freeze({});

/**
 * The base constructor returns the given job, so a subclass adds its private fields to that job, even if the job is frozen or was
 * made without its own constructor. A `WeakMap` would be simpler, but it keeps each job until a full garbage collection, and
 * young collections copy the job until then.
 */
const Given = function (job: object): object {
  return job;
} as unknown as new (job: object) => object;

class WithChoice extends Given {
  #choice = NOTHING;

  static readonly of = (job: object): InstanceChoice => (#choice in job ? job.#choice : NOTHING);

  static readonly add = (job: object, choice: InstanceChoice): void => {
    const given = #choice in job ? job : new WithChoice(job);
    given.#choice = { ...given.#choice, ...choice };
  };
}

class WithContext extends Given {
  #context: JobContext | undefined;

  static readonly of = (job: object): JobContext | undefined => (#context in job ? job.#context : undefined);

  static readonly attach = (job: object, context: JobContext): void => {
    (#context in job ? job : new WithContext(job)).#context = context;
  };
}

class WithMembership extends Given {
  #group: object | undefined;

  static readonly enter = (job: object, group: object): boolean => {
    const entered = #group in job ? job : new WithMembership(job);
    if (entered.#group === group) return false;
    entered.#group = group;
    return true;
  };
}

/** What the instance chose. Frozen and empty if it chose nothing. */
export const chosenOf = WithChoice.of;

/** The call that makes each choice. */
const CALLS: Readonly<Record<keyof InstanceChoice, string>> = {
  connection: 'onConnection()',
  queue: 'onQueue()',
  delay: 'delay() or withoutDelay()',
  middleware: 'through()',
  chain: 'Queue.chain()',
  batch: 'Queue.batch()',
  occurrence: 'Queue.schedule()',
};

/** The calls that made the instance's choices, in words. Undefined if there are none. */
export function choiceCalls(job: object): string | undefined {
  const parts = Object.keys(chosenOf(job)) as (keyof InstanceChoice)[];
  return parts.length === 0 ? undefined : parts.map((part) => CALLS[part]).join(' and ');
}

/** Adds to the instance's earlier choices. */
export const choose = WithChoice.add;

/** The reservation that the job runs under. Undefined while it does not run. */
export const contextOf = WithContext.of;

/** Replaces the context of an earlier run. */
export const attachContext = WithContext.attach;

/** Enters the instance into a group. False if that was the last group that it entered. */
export const enterGroup = WithMembership.enter;
