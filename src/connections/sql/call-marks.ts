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

/** One call, as often as it is sent. */
export interface MarkedCall {
  /** The mark for sending it, or for sending it again. */
  next(): CallMark;
  /**
   * It was answered: these jobs were settled by it, and by the calls of its client before it.
   *
   * Returns those of the doubtful that were.
   */
  heard(settled?: ReadonlySet<number>): readonly Reservation[];
  /** It was to settle these, and nobody knows whether it did. */
  doubt(reservations: readonly Reservation[]): void;
  /** Nobody will ask for it again; the client may be used for another call, which asks what became of this one. */
  end(): void;
  /** The same for a call that no other one may ask for: without an answer its client is used no more. */
  endForGood(): void;
}

/** Of a server that is away for long the first calls are of no interest any more: the leases have ended. */
const MOST_UNHEARD = 100;

interface Client {
  readonly name: string;
  number: number;
  unheard: number[];
  /** What unheard calls were to settle. */
  doubtful: readonly Reservation[];
  /** Called when the call that is under way has ended. */
  readonly waiting: (() => void)[];
}

export class CallMarks {
  readonly #free: Client[] = [];
  readonly #all: Client[] = [];

  begin(): MarkedCall {
    // What a call without an answer has reserved goes back by the next one of its client, or else when the leases end.
    const client = this.#free.find(({ unheard }) => unheard.length > 0) ?? this.#free.at(-1);
    return this.#begin(client === undefined ? this.#add() : this.#taken(client));
  }

  /** A call that asks what became of settles without an answer. Undefined: there are none. */
  async beginAsking(): Promise<MarkedCall | undefined> {
    for (;;) {
      const client = this.#all.find(({ doubtful }) => doubtful.length > 0);
      if (client === undefined) return undefined;
      if (this.#free.includes(client)) return this.#begin(this.#taken(client));
      // The call that is under way may ask.
      await new Promise<void>((resolve) => client.waiting.push(resolve));
    }
  }

  #taken(free: Client): Client {
    this.#free.splice(this.#free.indexOf(free), 1);
    return free;
  }

  #begin(client: Client): MarkedCall {
    return {
      next: () => {
        client.number += 1;
        const unheard = client.unheard;
        client.unheard = [...unheard, client.number].slice(-MOST_UNHEARD);
        return { client: client.name, number: client.number, unheard };
      },
      heard: (settled) => {
        const { doubtful } = client;
        client.unheard = [];
        client.doubtful = [];
        return doubtful.filter(({ token }) => settled?.has((token as ReservationToken).id));
      },
      doubt: (reservations) => (client.doubtful = [...client.doubtful, ...reservations]),
      end: () => {
        this.#free.push(client);
        for (const goOn of client.waiting.splice(0)) goOn();
      },
      endForGood: () => {
        if (client.unheard.length === 0) this.#free.push(client);
      },
    };
  }

  /** Of all clients that were named. */
  get clients(): readonly string[] {
    return this.#all.map(({ name }) => name);
  }

  #add(): Client {
    const client = { name: uuidv7(), number: 0, unheard: [], doubtful: [], waiting: [] };
    this.#all.push(client);
    return client;
  }
}
