/** What stands beside an instance of a job: what it chose about its dispatch, and its run. On it, it would be data and travel. */
import type { Milliseconds } from '../base/clock';
import type { Delay } from './duration';
import type { JobContext } from './job-context';
import type { Middleware } from './middleware';

export interface InstanceChoice {
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
  readonly delay?: Delay | undefined;
  readonly middleware?: readonly Middleware[] | undefined;
  /** Of a dispatch alone. */
  readonly chain?: ChosenChain | undefined;
  /** That it belongs to. Of a dispatch alone. */
  readonly batch?: { readonly id: string; readonly weight: number } | undefined;
  /** Of what it is sent for. Of a schedule alone. */
  readonly occurrence?: ChosenOccurrence | undefined;
}

export interface ChosenOccurrence {
  readonly schedule: string;
  readonly at: Milliseconds;
  /** The same for all who send it; undefined: it is sent by hand. */
  readonly id?: string | undefined;
  /** Held until its job ends, where the job has no key of its own. */
  readonly key?: string | undefined;
}

/** The jobs that are to follow. */
export interface ChosenChain {
  readonly links: readonly object[];
  /** Sent when one of them, or the first, has failed for good. */
  readonly caught?: object | undefined;
  /** Where those go that say nothing themselves. */
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
}

const NOTHING: InstanceChoice = Object.freeze({});

/**
 * A subclass adds its private fields to the job that its constructor is given, also to one that is frozen or was made
 * without its own constructor. A `WeakMap` would be simpler, but keeps each job until a full garbage collection, and young
 * collections copy it until then.
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

/** What the instance chose; frozen and empty where it chose nothing. */
export const chosenOf = (job: object): InstanceChoice => WithChoice.of(job);

/** How each of them is chosen. */
const CALLS: Readonly<Record<keyof InstanceChoice, string>> = {
  connection: 'onConnection()',
  queue: 'onQueue()',
  delay: 'delay() or withoutDelay()',
  middleware: 'through()',
  chain: 'Queue.chain()',
  batch: 'Queue.batch()',
  occurrence: 'Queue.schedule()',
};

/** The calls that made its choices, in words; undefined: it has none. */
export function choiceCalls(job: object): string | undefined {
  const parts = Object.keys(chosenOf(job)) as (keyof InstanceChoice)[];
  return parts.length === 0 ? undefined : parts.map((part) => CALLS[part]).join(' and ');
}

/** Adds to what the instance chose before. */
export const choose = (job: object, choice: InstanceChoice): void => WithChoice.add(job, choice);

/** The reservation that the job runs under; undefined: it does not run. */
export const contextOf = (job: object): JobContext | undefined => WithContext.of(job);

/** Replaces the context of an earlier run. */
export const attachContext = (job: object, context: JobContext): void => WithContext.attach(job, context);
