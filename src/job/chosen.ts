/** What a single instance chose about its dispatch, kept beside it: on it, it would be data and travel. */
import type { Delay } from './duration';
import type { Middleware } from './middleware';

export interface InstanceChoice {
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
  readonly delay?: Delay | undefined;
  readonly middleware?: readonly Middleware[] | undefined;
}

const NOTHING: InstanceChoice = Object.freeze({});

const choices = new WeakMap<object, InstanceChoice>();

export function chosenOf(job: object): InstanceChoice {
  return choices.get(job) ?? NOTHING;
}

/** Adds to what the instance chose before. */
export function choose(job: object, choice: InstanceChoice): void {
  choices.set(job, { ...choices.get(job), ...choice });
}
