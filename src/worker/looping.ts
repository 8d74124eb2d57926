/**
 * Asks the `looping` hooks whether the worker may reserve. They are asked beside the loop, one time after another, so that
 * a slow one never delays a settle.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { LoopingEvent } from '../job/hook-events';
import type { Application } from '../connections/application';

export class Looping {
  readonly #application: Application;
  readonly #event: LoopingEvent;
  readonly #pause: Seconds;
  readonly #answered: () => void;
  #state: 'unasked' | 'asking' | 'answered' | 'allowed' = 'unasked';
  #vetoed = false;
  #vetoedUntil: Milliseconds | undefined;

  /** @param sleep how long a veto holds. As in Laravel, a second where it is 0: the hooks would be asked without end */
  constructor(application: Application, event: LoopingEvent, sleep: Seconds, answered: () => void) {
    this.#application = application;
    this.#event = event;
    this.#pause = sleep || 1;
    this.#answered = answered;
  }

  /** The last answer was a veto. */
  get isVetoed(): boolean {
    return this.#vetoed;
  }

  /** Until then nobody is asked again, by the monotonic clock; undefined: no veto holds. */
  get vetoedUntil(): Milliseconds | undefined {
    return this.#vetoedUntil;
  }

  /**
   * Looks at the clock, once for each step of the loop: one that saw a veto end half way would neither ask nor wait. And an answer
   * holds for the step that follows it: later it may not be what the hooks would say.
   */
  tellTime(): void {
    if (this.#application.clock.monotonic() >= (this.#vetoedUntil ?? Infinity)) this.#vetoedUntil = undefined;
    if (this.#state === 'allowed') this.#state = 'unasked';
    else if (this.#state === 'answered') this.#state = 'allowed';
  }

  /** Whether to reserve now, once for each answer. Where there is none yet, the hooks are asked. */
  isAllowed(): boolean {
    if (!this.#application.hooks.has('looping')) return true;
    const isAllowed = this.#state === 'allowed';
    if (isAllowed) this.#state = 'unasked';
    else if (this.#state === 'unasked') void this.#ask();
    return isAllowed;
  }

  async #ask(): Promise<void> {
    this.#state = 'asking';
    const isAllowed = await this.#application.hooks.allowsReserve(this.#event);
    this.#state = isAllowed ? 'answered' : 'unasked';
    this.#vetoed = !isAllowed;
    this.#vetoedUntil = isAllowed ? undefined : this.#application.clock.monotonic() + this.#pause * 1000;
    this.#answered();
  }
}
