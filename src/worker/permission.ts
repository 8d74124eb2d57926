/**
 * Asks the `looping` hooks whether the worker may reserve. They are asked beside the loop, one time after another, so that
 * a slow one never delays a settle.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { LoopingEvent } from '../application/hooks/events';
import type { Application } from '../application/application';

export interface PermissionSettings {
  readonly application: Application;
  readonly event: LoopingEvent;
  /** How long a veto holds. As in Laravel, a second where it is 0: they would be asked without end. */
  readonly pause: Seconds;
  /** Called when there is an answer. */
  readonly answered: () => void;
}

export class Permission {
  readonly #settings: PermissionSettings;
  #state: 'none' | 'asking' | 'granted' = 'none';
  #vetoed = false;
  #vetoedUntil: Milliseconds = 0;

  constructor(settings: PermissionSettings) {
    this.#settings = settings;
  }

  /** The last answer was a veto. */
  get isVetoed(): boolean {
    return this.#vetoed;
  }

  /** Until then nobody is asked again, by the monotonic clock; undefined: no veto holds. */
  get vetoedUntil(): Milliseconds | undefined {
    return this.#settings.application.clock.monotonic() < this.#vetoedUntil ? this.#vetoedUntil : undefined;
  }

  /** Whether to reserve now. Where there is no answer yet, it is asked for. */
  isGranted(): boolean {
    if (this.#state === 'granted' || !this.#settings.application.hooks.has('looping')) return true;
    if (this.#state === 'none') this.#ask();
    return false;
  }

  /** What was granted is used: each reserve needs a permission of its own. */
  use(): void {
    this.#state = 'none';
  }

  #ask(): void {
    const { application, event, pause, answered } = this.#settings;
    this.#state = 'asking';
    void application.hooks.allowsReserve(event).then((allowed) => {
      this.#state = allowed ? 'granted' : 'none';
      this.#vetoed = !allowed;
      if (!allowed) this.#vetoedUntil = application.clock.monotonic() + (pause || 1) * 1000;
      answered();
    });
  }
}
