/** What was pushed onto the connections of a fake, in order. */
import type { Milliseconds } from '../base/clock';
import { BUILT_IN } from '../job/registry';
import type { Class } from '../base/class';
import { definitionOfClass } from '../job/instance';
import { subjectOf } from '../job/declare';
import type { Entry, Pushed } from '../connections/contract';
import { START_BATCH } from '../dispatch/batch/send-batch';
import { ReadPush, type Push, type Pushed as PushedJob } from './push';

/** A failed assertion should fit on a screen. */
export const MOST_LISTED = 20;

export class PushLog {
  readonly #logged: ReadPush[] = [];
  /** The pushed jobs, and batches that are the first link of a chain. */
  readonly #shown: ReadPush[] = [];
  readonly #skipped: ReadPush[] = [];

  get pushes(): readonly Push[] {
    return this.#logged.map(({ push }) => push);
  }

  /** All pushes, each with the jobs that travel in it. */
  get all(): readonly ReadPush[] {
    return this.#shown;
  }

  /** Returns the program's own pushes among them. */
  add(connection: string, queue: string, entries: readonly Entry[], now: Milliseconds): readonly ReadPush[] {
    const added = entries.map((entry) => new ReadPush(connection, queue, entry, now));
    // Carriers are not pushed by the program: the carried job is logged where it arrives.
    const shown = added.filter(({ push }) => !push.name.startsWith(BUILT_IN) || push.name === START_BATCH);
    const logged = shown.filter(({ push }) => push.name !== START_BATCH);
    this.#logged.push(...logged);
    this.#shown.push(...shown);
    return logged;
  }

  /** Notes which jobs do not run: those that were refused, and pushed ones that others replaced. */
  skip(connection: string, queue: string, entry: Entry, pushed: Pushed, now: Milliseconds): void {
    if (typeof pushed !== 'object') return;
    const skipped =
      'replaced' in pushed
        ? this.#logged.find(({ push }) => push.connection === connection && push.id === pushed.replaced)
        : new ReadPush(connection, queue, entry, now);
    if (skipped !== undefined) this.#skipped.push(skipped);
  }

  /** @throws InvalidPayloadError, UnknownClassError a worker could not make the job either */
  of<J extends object>(target: Class): PushedJob<J>[] {
    return jobsOf(target, this.#logged);
  }

  /** @throws as `of` */
  skippedOf<J extends object>(target: Class): PushedJob<J>[] {
    return jobsOf(target, this.#skipped);
  }

  /** For people: what was pushed, one line each. */
  describe(): string {
    const { length } = this.#shown;
    if (length === 0) return 'Nothing was pushed.';
    const lines = this.#shown.slice(0, MOST_LISTED).map((one, index) => `\n  ${index + 1}. ${one.describe()}`);
    const rest = length > MOST_LISTED ? `\n  … and ${length - MOST_LISTED} more` : '';
    return `What was pushed:${lines.join('')}${rest}`;
  }
}

function jobsOf<J extends object>(target: Class, among: readonly ReadPush[]): PushedJob<J>[] {
  const { name } = definitionOfClass(target);
  return among
    .filter(({ definition }) => definition !== undefined && definition.name === name)
    .map((one) => ({ ...one.push, job: subjectOf(one.job!) as J }));
}
