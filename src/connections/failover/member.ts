/** One of the connections that a failover has, and whether it takes jobs at the moment. */
import type { Milliseconds } from '../../base/clock';
import type { Connection, Entry } from '../contract';
import type { ConnectorContext } from '../connector';
import { entriesFor } from '../due-entries';
import { CapabilityError, QueueUnavailableError } from '../errors';

/** Between two looks at one that is away; where it answers and takes nothing, ever longer. */
const FIRST_PAUSE: Milliseconds = 1000;
const LONGEST_PAUSE: Milliseconds = 30_000;

export class Member {
  readonly name: string;
  readonly #context: ConnectorContext;
  #isAway = false;
  /** It has answered: the next push tries it, and no other until it is known what came of that. */
  #mayBeBack = false;
  #isAsked = false;
  #pause = FIRST_PAUSE;
  #askAt: Milliseconds = -Infinity;

  constructor(name: string, context: ConnectorContext) {
    this.name = name;
    this.#context = context;
  }

  get connection(): Connection {
    return this.#context.manager.driver(this.name);
  }

  /** Whether a push tries it in its turn: it would wait for its deadline in vain where it is away. */
  isWorthATry(queue: string): boolean {
    if (!this.#isAway) return true;
    const isWorth = this.#mayBeBack;
    this.#mayBeBack = false;
    if (!isWorth) this.#ask(queue);
    return isWorth;
  }

  /**
   * Undefined: it took them.
   *
   * @throws QueueUnavailableError it may have taken them: sent to another as well, they would run twice
   */
  async push(queue: string, entries: readonly Entry[]): Promise<QueueUnavailableError | undefined> {
    try {
      const { connection } = this;
      const jobs = entries.map((entry) => ({ entry }));
      await connection.push(queue, await entriesFor(connection, jobs));
    } catch (error) {
      if (!(error instanceof QueueUnavailableError)) throw error;
      this.#noteAbsence(error, queue);
      if (error.facts.uncertain === true) throw error;
      return error;
    }
    this.#noteReturn();
    return undefined;
  }

  /** How many jobs are ready in the queue; undefined: it answers, and does not count. @throws what it throws */
  async look(queue: string): Promise<number | undefined> {
    try {
      return (await this.connection.counts(queue)).ready;
    } catch (error) {
      if (!(error instanceof CapabilityError)) throw error;
      await this.connection.queues();
      return undefined;
    }
  }

  #noteAbsence(error: QueueUnavailableError, queue: string): void {
    const { clock, manager, name } = this.#context;
    if (this.#isAway) this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    this.#askAt = clock.monotonic() + this.#pause;
    if (this.#isAway) return;
    this.#isAway = true;
    const during = `'${this.name}' takes no jobs of '${name}', and the connections behind it are asked until it does`;
    manager.report(error, { during, connection: this.name, queue });
  }

  #noteReturn(): void {
    this.#pause = FIRST_PAUSE;
    if (!this.#isAway) return;
    this.#isAway = this.#mayBeBack = false;
    const { logger, name } = this.#context;
    logger.info({ connection: this.name }, `'${this.name}' takes jobs of '${name}' again.`);
  }

  // By a call that can do no harm, and that nobody waits for.
  #ask(queue: string): void {
    const { clock } = this.#context;
    if (this.#isAsked || clock.monotonic() < this.#askAt) return;
    this.#isAsked = true;
    const answered = (mayBeBack: boolean): void => {
      this.#isAsked = false;
      this.#mayBeBack = mayBeBack && this.#isAway;
      if (!mayBeBack) this.#askAt = clock.monotonic() + this.#pause;
    };
    this.look(queue).then(
      () => answered(true),
      () => answered(false),
    );
  }
}
