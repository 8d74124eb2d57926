/** Ends what a manager holds open, step by step, each within a deadline: an unreachable store must not block it. */
import type { Application } from '../connections/application';
import type { Seconds } from '../base/clock';

/** What a manager stops when it closes: mostly workers. */
export interface Closable {
  /** May be called at any time, any number of times. */
  close(): Promise<void>;
  /** Whether it waits for the very code that asks. That code must then not wait for its end. */
  readonly isCaller?: boolean | undefined;
  /** Seconds that a clean end may take; then the manager goes on without it. Default 60. */
  readonly closeDeadline?: Seconds | undefined;
}

const SENDING_DEADLINE: Seconds = 10;
const STOPPING_DEADLINE: Seconds = 60;
const CLOSING_DEADLINE: Seconds = 5;
const LAST_DEADLINE: Seconds = 10;

export class Shutdown {
  readonly #application: Application;
  readonly #closables: Iterable<Closable>;

  constructor(application: Application, closables: Iterable<Closable>) {
    this.#application = application;
    this.#closables = closables;
  }

  /** Sends what was dispatched and not awaited, then stops the workers. Until it resolves, jobs may use the connections. */
  async settle(): Promise<void> {
    await this.#send();
    await Promise.all(Array.from(this.#closables, (closable) => this.#stop(closable)));
    // Sends what the last jobs dispatched.
    await this.#send();
  }

  /** @param last ends what the configuration itself has opened */
  async disconnect(last?: () => unknown): Promise<void> {
    await Promise.all(
      Array.from(this.#application.drivers, (driver) =>
        this.#within(CLOSING_DEADLINE, `closing the connection '${driver.name}'`, async () => driver.close()),
      ),
    );
    if (last !== undefined)
      await this.#within(LAST_DEADLINE, 'close() of the configuration', async () => void (await last()));
  }

  #send(): Promise<void> {
    const { outbox } = this.#application;
    return this.#within(SENDING_DEADLINE, 'sending what was dispatched and not awaited', () => outbox.flush());
  }

  #stop(closable: Closable): Promise<void> {
    return this.#within(closable.closeDeadline ?? STOPPING_DEADLINE, 'stopping a worker', async () => closable.close());
  }

  async #within(seconds: Seconds, during: string, step: () => Promise<void>): Promise<void> {
    const application = this.#application;
    const { clock, logger } = application;
    await new Promise<void>((resolve) => {
      const leaveBehind = (): void => {
        logger.warn({ seconds }, `Queue.close(): ${during} took longer than ${seconds} s; going on without it.`);
        resolve();
      };
      const timer = clock.after(seconds * 1000, leaveBehind, true);
      step()
        .catch((error: unknown) => application.report(error, { during }))
        .finally(() => {
          timer.cancel();
          resolve();
        });
    });
  }
}
