/** The `looping` hooks, which may forbid a reserve. They run beside the loop, one call at a time: a slow one delays no settle. */
import type { Milliseconds } from '../base/clock';
import type { WorkerSettings } from './worker-options';

export class Veto {
  readonly #settings: WorkerSettings;
  readonly #ring: () => void;
  #asked: 'not yet' | 'under way' | 'answered' | 'allowed' = 'not yet';
  /** The last answer of the hooks was a veto. */
  isVetoed = false;
  /** When the veto ends, by the monotonic clock: the hooks are not asked again until then. Infinity: there is none. */
  until: Milliseconds = Infinity;

  /** @param ring called when the hooks have answered */
  constructor(settings: WorkerSettings, ring: () => void) {
    this.#settings = settings;
    this.#ring = ring;
  }

  /** An answer holds only for the next step: later the hooks might answer differently. */
  tellTime(now: Milliseconds): void {
    if (now >= this.until) this.until = Infinity;
    if (this.#asked === 'allowed') this.#asked = 'not yet';
    else if (this.#asked === 'answered') this.#asked = 'allowed';
  }

  /** Whether to reserve now. Each answer allows one reserve; without an answer, the hooks are asked. */
  allows(): boolean {
    const isAllowed = this.#asked === 'allowed';
    if (isAllowed) this.#asked = 'not yet';
    else if (this.#asked === 'not yet') void this.#ask();
    return isAllowed;
  }

  async #ask(): Promise<void> {
    const { connection, queues, application, options } = this.#settings;
    const { hooks, clock } = application;
    this.#asked = 'under way';
    const queue = queues.map(({ name }) => name).join(',');
    const isAllowed = await hooks.allowsReserve({ connectionName: connection.name, queue });
    this.#asked = isAllowed ? 'answered' : 'not yet';
    this.isVetoed = !isAllowed;
    // As in Laravel, one second if `sleep` is 0: otherwise the hooks would be asked endlessly.
    if (!isAllowed) this.until = clock.monotonic() + (options.sleep || 1) * 1000;
    this.#ring();
  }
}
