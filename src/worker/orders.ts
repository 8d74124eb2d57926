/** What the store says with each reserve: which queues are paused, that workers are to start anew, that its data is gone. */
import type { Logger } from '../base/logger';
import type { Connection, ReserveReply } from '../connections/contract';

/** Those whose dangers were logged: few people run `onqueue check`. */
const warned = new WeakSet<Connection>();

export class Orders {
  readonly #connection: Connection;
  readonly #logger: Logger;
  #paused: readonly string[] = [];
  #restart: string | undefined;
  #isFirst = true;

  constructor(connection: Connection, logger: Logger) {
    this.#connection = connection;
    this.#logger = logger;
  }

  /** Those of the worker's queues that nothing is taken from. */
  get paused(): readonly string[] {
    return this.#paused;
  }

  /**
   * Takes note of a reply. True: the worker is to end, so that its process starts anew.
   *
   * @param unasked those of its queues that the reply says nothing of
   */
  heard({ paused: told = [], restart, forgotten = false }: ReserveReply, unasked?: ReadonlySet<string>): boolean {
    const paused = unasked === undefined ? told : [...told, ...this.#paused.filter((queue) => unasked.has(queue))];
    if (paused.join() !== this.#paused.join()) this.#logPaused(paused);
    if (forgotten) this.#logForgotten();
    if (this.#isFirst) void logDangers(this.#connection, this.#logger);
    // An order from before this worker began is not meant for it. A store that has forgotten its orders gives none.
    const isNew = !this.#isFirst && restart !== undefined && restart !== this.#restart;
    this.#isFirst = false;
    this.#restart = restart ?? this.#restart;
    return isNew;
  }

  #logPaused(paused: readonly string[]): void {
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

  #logForgotten(): void {
    const { name, address } = this.#connection;
    this.#logger.error(
      { connection: name, address, outcome: 'forgotten' },
      `${address} has lost what it had confirmed: it was flushed, or came back without its data. Jobs that waited there ` +
        'are gone; those that run here end as lost. The worker goes on.',
    );
  }
}

/** Logs what `onqueue check` finds of a store that may lose jobs. Never rejects. */
async function logDangers(connection: Connection, logger: Logger): Promise<void> {
  const store = connection.standsFor ?? connection;
  if (warned.has(store)) return;
  warned.add(store);
  const { name, address } = store;
  const found = await store.diagnose().catch(() => []);
  for (const { level, subject, message, endangersJobs } of found) {
    if (endangersJobs !== true) continue;
    const text = `${address} may lose jobs. ${subject}: ${message}`;
    logger[level === 'error' ? 'error' : 'warn']({ connection: name, subject }, text);
  }
}
