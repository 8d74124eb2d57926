/**
 * Names calls whose answers may be lost on their way. A server records under the name what it did. So when a call is repeated,
 * or at the next one, it is known what became of it, and nothing is done twice.
 */
import { uuidv7 } from '../../payload/uuid';

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
  /** It was answered. */
  heard(): void;
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
}

export class CallMarks {
  readonly #free: Client[] = [];
  readonly #all: Client[] = [];

  begin(): MarkedCall {
    const client = this.#free.pop() ?? this.#add();
    return {
      next: () => {
        client.number += 1;
        const unheard = client.unheard;
        client.unheard = [...unheard, client.number].slice(-MOST_UNHEARD);
        return { client: client.name, number: client.number, unheard };
      },
      heard: () => (client.unheard = []),
      end: () => void this.#free.push(client),
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
    const client = { name: uuidv7(), number: 0, unheard: [] };
    this.#all.push(client);
    return client;
  }
}
