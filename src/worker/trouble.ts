/** A store that does not answer: told once for each streak, and asked again with growing pauses. */
import type { Timer } from '../base/clock';
import { errorMessage } from '../base/exception-text';
import type { Application } from '../application/application';
import type { Connection } from '../connections/contract';

const FIRST_PAUSE = 250;
/** A store that is back is to be used again within 2 s, whatever the connection itself needs. */
const LONGEST_PAUSE = 1000;

export class Trouble {
  readonly #application: Application;
  readonly #connection: Connection;
  readonly #ring: () => void;
  #streak = 0;
  #told = false;
  #lastMessage: string | undefined;
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

  /** The store does not answer, as far as we know. */
  get isTold(): boolean {
    return this.#told;
  }

  /** What the store said last, unless it has answered since. */
  get lastMessage(): string | undefined {
    return this.#lastMessage;
  }

  /** Said once for each streak, unless the driver has said so itself. */
  tell(thrown: unknown, during: string): void {
    const message = errorMessage(thrown);
    this.#lastMessage = message;
    if (this.#told || this.#connection.isAway === true) return;
    this.#told = true;
    const { name, address } = this.#connection;
    this.#application.logger.error({ connection: name, address, during }, `${message} The worker goes on trying.`);
  }

  /** Tells it, and leaves the store alone for a while. */
  note(thrown: unknown, during: string): void {
    const { clock, random } = this.#application;
    this.tell(thrown, during);
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
    this.#streak = 0;
    this.#lastMessage = undefined;
    if (!this.#told) return;
    this.#told = false;
    const { name, address } = this.#connection;
    this.#application.logger.info({ connection: name, address }, `${address} answers again.`);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
