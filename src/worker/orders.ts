/** What the store tells a worker with each reserve: which queues are paused, that it is to start anew, that data is gone. */
import type { Logger } from '../base/logger';
import type { Connection, ReserveReply } from '../connections/contract';
import { tellDangers } from './dangers';

export class Orders {
  readonly #connection: Connection;
  readonly #logger: Logger;
  #paused: readonly string[] = [];
  #restart: string | undefined;
  #heard = false;

  constructor(connection: Connection, logger: Logger) {
    this.#connection = connection;
    this.#logger = logger;
  }

  /** Those of the worker's queues that nothing is taken from. */
  get paused(): readonly string[] {
    return this.#paused;
  }

  /**
   * Whether the worker is to end so that its process starts anew.
   *
   * @param unasked those of its queues that the reply says nothing of
   */
  heed({ paused: told = [], restart, forgotten = false }: ReserveReply, unasked?: ReadonlySet<string>): boolean {
    const paused = unasked === undefined ? told : [...told, ...this.#paused.filter((queue) => unasked.has(queue))];
    if (paused.join() !== this.#paused.join()) this.#tellPaused(paused);
    if (forgotten) this.#tellForgotten();
    // An order from before this worker began is not meant for it. A store that has forgotten its orders gives none.
    if (!this.#heard) void tellDangers(this.#connection, this.#logger);
    const isNew = this.#heard && restart !== undefined && restart !== this.#restart;
    this.#heard = true;
    this.#restart = restart ?? this.#restart;
    return isNew;
  }

  #tellPaused(paused: readonly string[]): void {
    const { name } = this.#connection;
    for (const queue of paused) {
      if (this.#paused.includes(queue)) continue;
      this.#logger.warn({ connection: name, queue }, `Queue '${queue}' is paused: nothing is taken from it.`);
    }
    for (const queue of this.#paused) {
      if (!paused.includes(queue)) this.#logger.info({ connection: name, queue }, `Queue '${queue}' goes on.`);
    }
    this.#paused = paused;
  }

  #tellForgotten(): void {
    const { name, address } = this.#connection;
    this.#logger.error(
      { connection: name, address, outcome: 'forgotten' },
      `${address} has lost what it had confirmed: it was flushed, or came back without its data. Jobs that waited there ` +
        'are gone; those that run here end as lost. The worker goes on.',
    );
  }
}
