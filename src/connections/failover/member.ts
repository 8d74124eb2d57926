/** One connection of a failover, and whether it takes jobs at the moment. */
import { pauseAfter, type Milliseconds } from '../../base/clock';
import type { Connection, Entry, Pushed } from '../contract';
import type { ConnectorContext } from '../driver';
import { entriesFor } from '../entries';
import { QueueUnavailableError } from '../errors';

/** Pauses between two looks at a member that is away; they grow if it answers but takes nothing. */
const BACKOFF = { first: 1000, longest: 30_000 };

export class Member {
  readonly name: string;
  readonly #context: ConnectorContext;
  /** Failed pushes since it last took one. */
  #failures = 0;
  /** It has answered: the next push tries it. Other pushes wait until the result is known. */
  #mayBeBack = false;
  #isAsked = false;
  #askAt: Milliseconds = -Infinity;

  constructor(name: string, context: ConnectorContext) {
    this.name = name;
    this.#context = context;
  }

  get connection(): Connection {
    return this.#context.manager.driver(this.name);
  }

  /** Whether a push tries it in its turn: if it is away, the push would wait for its deadline in vain. */
  isWorthATry(queue: string): boolean {
    if (this.#failures === 0) return true;
    const isWorth = this.#mayBeBack;
    this.#mayBeBack = false;
    if (!isWorth) this.#ask(queue);
    return isWorth;
  }

  /**
   * Returns what happened to each entry; undefined if all were queued; an error if it took none.
   *
   * @throws QueueUnavailableError it may have taken them: sent to another member as well, they would run twice
   */
  async push(queue: string, entries: readonly Entry[]): Promise<QueueUnavailableError | readonly Pushed[] | undefined> {
    let pushed: readonly Pushed[] | void;
    try {
      const { connection } = this;
      const jobs = entries.map((entry) => ({ entry }));
      pushed = await connection.push(queue, await entriesFor(connection, jobs));
    } catch (error) {
      if (!(error instanceof QueueUnavailableError)) throw error;
      this.#noteAbsence(error, queue);
      if (error.facts.uncertain === true) throw error;
      return error;
    }
    this.#noteReturn();
    return pushed ?? undefined;
  }

  /** How many jobs are ready in the queue. @throws what it throws */
  async look(queue: string): Promise<number> {
    return (await this.connection.queues.counts(queue)).ready;
  }

  #noteAbsence(error: QueueUnavailableError, queue: string): void {
    const { manager, name } = this.#context;
    this.#failures += 1;
    this.#leaveAlone();
    if (this.#failures > 1) return;
    const during = `'${this.name}' takes no jobs of '${name}', and the connections behind it are asked until it does`;
    manager.report(error, { during, connection: this.name, queue });
  }

  #noteReturn(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#mayBeBack = false;
    const { logger, name } = this.#context;
    logger.info({ connection: this.name }, `'${this.name}' takes jobs of '${name}' again.`);
  }

  // Nobody waits for this call, and it can do no harm.
  #ask(queue: string): void {
    if (this.#isAsked || this.#context.clock.monotonic() < this.#askAt) return;
    this.#isAsked = true;
    const answered = (mayBeBack: boolean): void => {
      this.#isAsked = false;
      this.#mayBeBack = mayBeBack && this.#failures > 0;
      if (!mayBeBack) this.#leaveAlone();
    };
    this.look(queue).then(
      () => answered(true),
      () => answered(false),
    );
  }

  #leaveAlone(): void {
    const { clock, manager } = this.#context;
    this.#askAt = clock.monotonic() + pauseAfter(this.#failures - 1, BACKOFF, manager.random);
  }
}
