/**
 * What belongs to a job instance but must not be a property of it (properties are data and travel): its dispatch choices, its
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
  #choice: InstanceChoice;

  constructor(job: object, choice: InstanceChoice) {
    super(job);
    this.#choice = choice;
  }

  static of(job: object): InstanceChoice {
    return #choice in job ? job.#choice : NOTHING;
  }

  static add(job: object, choice: InstanceChoice): void {
    if (#choice in job) job.#choice = { ...job.#choice, ...choice };
    else void new WithChoice(job, choice);
  }
}

class WithContext extends Given {
  #context: JobContext;

  constructor(job: object, context: JobContext) {
    super(job);
    this.#context = context;
  }

  static of(job: object): JobContext | undefined {
    return #context in job ? job.#context : undefined;
  }

  static attach(job: object, context: JobContext): void {
    if (#context in job) job.#context = context;
    else void new WithContext(job, context);
  }
}

class WithMembership extends Given {
  #group: object;

  constructor(job: object, group: object) {
    super(job);
    this.#group = group;
  }

  static enter(job: object, group: object): boolean {
    if (!(#group in job)) void new WithMembership(job, group);
    else if (job.#group === group) return false;
    else job.#group = group;
    return true;
  }
}

/** What the instance chose. Frozen and empty if it chose nothing. */
export const chosenOf = (job: object): InstanceChoice => WithChoice.of(job);

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
export const choose = (job: object, choice: InstanceChoice): void => WithChoice.add(job, choice);

/** The reservation that the job runs under. Undefined while it does not run. */
export const contextOf = (job: object): JobContext | undefined => WithContext.of(job);

/** Replaces the context of an earlier run. */
export const attachContext = (job: object, context: JobContext): void => WithContext.attach(job, context);

/** Enters the instance into a group. False if that was the last group that it entered. */
export const enterGroup = (job: object, group: object): boolean => WithMembership.enter(job, group);
