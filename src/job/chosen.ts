/** What a single instance chose about its dispatch, kept beside it: on it, it would be data and travel. */
import { Given } from './given';
import type { Delay } from './duration';
import type { Middleware } from './middleware';

export interface InstanceChoice {
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
  readonly delay?: Delay | undefined;
  readonly middleware?: readonly Middleware[] | undefined;
}

const NOTHING: InstanceChoice = Object.freeze({});

class WithChoice extends Given {
  #choice: InstanceChoice;

  constructor(job: object, choice: InstanceChoice) {
    super(job);
    this.#choice = choice;
  }

  static of(job: object): InstanceChoice | undefined {
    return #choice in job ? job.#choice : undefined;
  }

  static add(job: object, choice: InstanceChoice): object {
    if (!(#choice in job)) return new WithChoice(job, choice);
    job.#choice = { ...job.#choice, ...choice };
    return job;
  }
}

export function chosenOf(job: object): InstanceChoice {
  return WithChoice.of(job) ?? NOTHING;
}

/** How each of them is chosen. */
const CALLS: Readonly<Record<keyof InstanceChoice, string>> = {
  connection: 'onConnection()',
  queue: 'onQueue()',
  delay: 'delay() or withoutDelay()',
  middleware: 'through()',
};

/** The calls that made its choices, in words; undefined: it has none. */
export function choiceCalls(job: object): string | undefined {
  const choice = WithChoice.of(job);
  return choice && (Object.keys(choice) as (keyof InstanceChoice)[]).map((part) => CALLS[part]).join(' and ');
}

/** Adds to what the instance chose before. */
export function choose(job: object, choice: InstanceChoice): void {
  WithChoice.add(job, choice);
}
