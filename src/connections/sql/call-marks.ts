/**
 * Names calls whose answers may be lost on their way. A server records under the name what it did. So when a call is repeated,
 * or at the next one, it is known what became of it, and nothing is done twice.
 */
import { uuidv7 } from '../../payload/uuid';
import type { Reservation } from '../contract';
import type { ReservationToken } from './dialect';

export interface CallMark {
  /** One call of a client is under way at a time. */
  readonly client: string;
  /** Grows. A call that reaches the server after a later one of its client, from a connection given up, does nothing. */
  readonly number: number;
  /** The calls of this client since the last answer. */
  readonly unheard: readonly number[];
}

/** Of a server that is away for long the first calls are of no interest any more: the leases have ended. */
const MOST_UNHEARD = 100;

/** Makes calls one after another. */
export class CallClient {
  readonly name = uuidv7();
  #number = 0;
  #unheard: readonly number[] = [];
  /** What unheard calls were to settle. */
  readonly #doubtful = new Set<Reservation>();

  get wasUsed(): boolean {
    return this.#number > 0;
  }

  get isUnheard(): boolean {
    return this.#unheard.length > 0;
  }

  get isDoubtful(): boolean {
    return this.#doubtful.size > 0;
  }

  /** The mark for sending a call, or for sending it again. */
  next(): CallMark {
    this.#number += 1;
    const mark = { client: this.name, number: this.#number, unheard: this.#unheard };
    this.#unheard = [...this.#unheard, this.#number].slice(-MOST_UNHEARD);
    return mark;
  }

  /** These jobs were settled by the last call, and by those before it. Returns those of the doubtful that were. */
  heard(settled: ReadonlySet<number> = new Set()): readonly Reservation[] {
    const doubtful = [...this.#doubtful];
    this.#unheard = [];
    this.#doubtful.clear();
    return doubtful.filter(({ token }) => settled.has((token as ReservationToken).id));
  }

  /** The last call was refused. Of one that was sent once nothing is there, and nothing is on its way. */
  refused(): void {
    if (this.#unheard.length === 1) this.#unheard = [];
  }

  /** The last call was to settle these, and nobody knows whether it did. */
  doubt(reservations: readonly Reservation[]): void {
    for (const reservation of reservations) this.#doubtful.add(reservation);
  }
}

/** The clients of calls that may be under way at once. */
export class CallClients {
  readonly all: CallClient[] = [];
  /** What ends when the call of a client does. */
  readonly #calls = new Map<CallClient, Promise<void>>();

  async use<T>(call: (client: CallClient) => Promise<T>, client = this.#free()): Promise<T> {
    let end!: () => void;
    this.#calls.set(client, new Promise((resolve) => (end = resolve)));
    try {
      return await call(client);
    } finally {
      this.#calls.delete(client);
      end();
    }
  }

  /** Has those whose settles are in doubt ask what became of them: told by another one, they would be taken for lost. */
  async clearDoubts(ask: (client: CallClient) => Promise<unknown>): Promise<void> {
    const doubtful = this.all.filter(({ isDoubtful }) => isDoubtful);
    if (doubtful.length > 0) await Promise.all(doubtful.map((client) => this.#clearDoubt(client, ask)));
  }

  async #clearDoubt(client: CallClient, ask: (client: CallClient) => Promise<unknown>): Promise<void> {
    // The call that is under way may hear of it.
    while (this.#calls.has(client)) await this.#calls.get(client);
    if (client.isDoubtful) await this.use(ask, client);
  }

  /** What a call without an answer has reserved goes back by the next one of its client, or else when the leases end. */
  #free(): CallClient {
    const free = this.all.filter((client) => !this.#calls.has(client));
    const client = free.find(({ isUnheard }) => isUnheard) ?? free.at(-1) ?? new CallClient();
    if (free.length === 0) this.all.push(client);
    return client;
  }
}
