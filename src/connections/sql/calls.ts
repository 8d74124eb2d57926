/**
 * Names calls whose answers may get lost on the way. The server records under the name what a call did. When the call is
 * repeated, or with the client's next call, we learn what became of it, and nothing is done twice.
 */
import { uuidv7 } from '../../payload/uuid';
import type { Reservation, Pushed } from '../contract';
import type { ReservationToken, Holders, QueuedJob } from './dialect';
import type { RowId } from './statement';

export interface CallMark {
  /** A client has one call under way at a time. */
  readonly client: string;
  /** Grows. A call that arrives after a later one of the same client, on a connection we gave up, does nothing. */
  readonly number: number;
  /** The numbers of this client's calls since its last answer. */
  readonly unheard: readonly number[];
}

/** When a server is away for long, the oldest calls no longer matter: their leases have ended. */
const MOST_UNHEARD = 100;

/** Makes calls one after another. */
export class CallClient {
  readonly name = uuidv7();
  #number = 0;
  #unheard: readonly number[] = [];
  /** The reservations that unanswered calls were to settle. */
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

  /**
   * The last call was answered: it, and those before it, settled these jobs. Returns the doubtful reservations among them.
   */
  heard(settled: ReadonlySet<RowId> = new Set()): readonly Reservation[] {
    const doubtful = [...this.#doubtful];
    this.#unheard = [];
    this.#doubtful.clear();
    return doubtful.filter(({ token }) => settled.has((token as ReservationToken).id));
  }

  /** The last call was refused. If it was sent only once, it left nothing behind, and no copy of it is still on its way. */
  refused(): void {
    if (this.#unheard.length === 1) this.#unheard = [];
  }

  /** The last call was to settle these, and we do not know whether it did. */
  doubt(reservations: readonly Reservation[]): void {
    for (const reservation of reservations) this.#doubtful.add(reservation);
  }
}

/** The clients of a connection: one for each call that is under way at the same time. */
export class CallClients {
  readonly all: CallClient[] = [];
  /** For each client with a call under way: a promise that resolves when the call ends. */
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

  /**
   * Makes clients with doubtful settlements ask what became of them. If another client settled them again, they would be
   * reported as lost.
   */
  async clearDoubts(ask: (client: CallClient) => Promise<unknown>): Promise<void> {
    const doubtful = this.all.filter(({ isDoubtful }) => isDoubtful);
    if (doubtful.length > 0) await Promise.all(doubtful.map((client) => this.#clearDoubt(client, ask)));
  }

  async #clearDoubt(client: CallClient, ask: (client: CallClient) => Promise<unknown>): Promise<void> {
    // The call under way may bring the answer.
    while (this.#calls.has(client)) await this.#calls.get(client);
    if (client.isDoubtful) await this.use(ask, client);
  }

  /**
   * Prefers a client with unanswered calls: its next call gives back what they reserved. Without one these jobs wait until
   * their leases end.
   */
  #free(): CallClient {
    const free = this.all.filter((client) => !this.#calls.has(client));
    const client = free.find(({ isUnheard }) => isUnheard) ?? free.at(-1) ?? new CallClient();
    if (free.length === 0) this.all.push(client);
    return client;
  }
}

/** Whether any of the jobs has a unique key or a debounce key. */
export const hasKeys = (jobs: readonly QueuedJob[]): boolean =>
  jobs.some(({ tie, debounce }) => tie !== undefined || debounce !== undefined);

/** The unique keys of the jobs that one call pushes. Of several jobs with the same key only the first asks for it. */
export class CallKeys {
  readonly jobs: readonly QueuedJob[];
  readonly hasKeys: boolean;
  /** Each unique key with the index of the job that asks for it. */
  readonly firsts = new Map<string, number>();

  constructor(jobs: readonly QueuedJob[]) {
    this.jobs = jobs;
    this.hasKeys = hasKeys(jobs);
    if (!this.hasKeys) return;
    for (const [index, { tie }] of jobs.entries()) {
      if (tie !== undefined && !this.firsts.has(tie.key)) this.firsts.set(tie.key, index);
    }
  }

  /**
   * Whether the job has no key, or is the first with its key: then the server decides whether it is added. Debounced jobs
   * are sent separately.
   */
  isAsked({ tie, debounce }: QueuedJob, index: number): boolean {
    return tie === undefined ? debounce === undefined : this.firsts.get(tie.key) === index;
  }

  /**
   * @param held the ids of the jobs that hold keys, by key
   * @param replaced the ids of the debounced jobs that were replaced, by the indexes of the jobs that replaced them
   */
  holders(
    held: ReadonlyMap<string, string>,
    replaced: Iterable<readonly [index: string, id: string]>,
  ): Holders | undefined {
    const holders = new Map<number, Exclude<Pushed, 'queued'>>();
    for (const [index, id] of replaced) holders.set(Number(index), { replaced: id });
    for (const [index, { tie }] of this.jobs.entries()) {
      if (tie === undefined) continue;
      const first = this.firsts.get(tie.key)!;
      const duplicate = held.get(tie.key) ?? (first === index ? undefined : this.jobs[first]!.uuid);
      if (duplicate !== undefined) holders.set(index, { duplicate });
    }
    return holders.size === 0 ? undefined : holders;
  }
}
