/** Ends what a manager holds open, in order, each step within a deadline: a store that is away must not keep it. */
import type { Clock, Seconds } from '../base/clock';
import type { Logger } from '../base/logger';
import type { ErrorContext } from '../connections/application';
import type { Connection } from '../connections/contract';
import type { Outbox } from '../dispatch/outbox';

/** What a manager stops when it closes: workers, mostly. */
export interface Closable {
  /** May be called at any time, any number of times. */
  close(): Promise<void>;
  /** Whether it waits for the very code that asks, which then must not wait for its end. */
  readonly isCaller?: boolean | undefined;
  /** Seconds that a clean end may take; past them the manager goes on without it. Default 60. */
  readonly closeDeadline?: Seconds | undefined;
}

export interface ShutdownParts {
  readonly outbox: Outbox;
  readonly closables: Iterable<Closable>;
  readonly drivers: Iterable<Connection>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly report: (error: unknown, context: ErrorContext) => void;
}

const SENDING_DEADLINE: Seconds = 10;
const STOPPING_DEADLINE: Seconds = 60;
const CLOSING_DEADLINE: Seconds = 5;
const LAST_DEADLINE: Seconds = 10;

export class Shutdown {
  readonly #parts: ShutdownParts;

  constructor(parts: ShutdownParts) {
    this.#parts = parts;
  }

  /** Sends what was dispatched and not awaited, then stops the workers. Jobs may use the connections until it resolves. */
  async settle(): Promise<void> {
    await this.#send();
    await Promise.all(Array.from(this.#parts.closables, (closable) => this.#stop(closable)));
    // What the last jobs dispatched.
    await this.#send();
  }

  /** @param last ends what the configuration itself has opened */
  async disconnect(last?: () => unknown): Promise<void> {
    await Promise.all(
      Array.from(this.#parts.drivers, (driver) =>
        this.#within(CLOSING_DEADLINE, `closing the connection '${driver.name}'`, async () => driver.close()),
      ),
    );
    if (last !== undefined)
      await this.#within(LAST_DEADLINE, 'close() of the configuration', async () => void (await last()));
  }

  #send(): Promise<void> {
    const { outbox } = this.#parts;
    return this.#within(SENDING_DEADLINE, 'sending what was dispatched and not awaited', () => outbox.flush());
  }

  #stop(closable: Closable): Promise<void> {
    return this.#within(closable.closeDeadline ?? STOPPING_DEADLINE, 'stopping a worker', async () => closable.close());
  }

  async #within(seconds: Seconds, during: string, step: () => Promise<void>): Promise<void> {
    const { clock, logger, report } = this.#parts;
    await new Promise<void>((resolve) => {
      const leaveBehind = (): void => {
        logger.warn({ seconds }, `Queue.close(): ${during} took longer than ${seconds} s; it was left behind.`);
        resolve();
      };
      const timer = clock.after(seconds * 1000, leaveBehind, true);
      step()
        .catch((error: unknown) => report(error, { during }))
        .finally(() => {
          timer.cancel();
          resolve();
        });
    });
  }
}
