/** A store that does not answer: told once for each streak, and asked again with growing pauses. */
import type { Timer } from '../clock/clock';
import type { Application } from '../queue/application';
import type { Connection } from '../queue/connection';
import { toError } from './exception-text';

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 5000;

export class Trouble {
  readonly #application: Application;
  readonly #connection: Connection;
  readonly #ring: () => void;
  #streak = 0;
  #timer: Timer | undefined;

  constructor(application: Application, connection: Connection, ring: () => void) {
    this.#application = application;
    this.#connection = connection;
    this.#ring = ring;
  }

  /** The store is left alone for now. */
  get pausing(): boolean {
    return this.#timer !== undefined;
  }

  note(thrown: unknown, during: string): void {
    const { logger, clock, random } = this.#application;
    const { name, address } = this.#connection;
    const { message } = toError(thrown);
    if (this.#streak === 0) {
      logger.error({ connection: name, address, during }, `${message} The worker goes on trying.`);
    }
    const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(this.#streak, 10));
    this.#streak += 1;
    this.#timer?.cancel();
    // Jitter keeps a fleet of workers from coming back in one and the same instant.
    this.#timer = clock.after(pause * (0.5 + random() / 2), () => {
      this.#timer = undefined;
      this.#ring();
    });
  }

  /** The store has answered. */
  over(): void {
    if (this.#streak === 0) return;
    this.#streak = 0;
    const { name, address } = this.#connection;
    this.#application.logger.info({ connection: name, address }, `${address} answers again.`);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
