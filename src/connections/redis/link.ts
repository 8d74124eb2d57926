/**
 * One client that can be replaced: a call that is not answered ends with its socket, not with the worker.
 *
 * While nothing is asked of it, the link keeps no process alive, and does not reconnect either.
 */
import type { Redis } from 'ioredis';
import { isRefusedForGood, isRefusedSelect } from './refusals';
import type { Client, ClientSource } from './client';

export interface LinkCall {
  /** Settles when the client does; where nothing is answered, never. */
  readonly reply: Promise<unknown>;
  /** Whether the server may have seen the call. */
  sent: boolean;
  readonly client: Client;
}

const FIRST_RETRY = 50;
const LONGEST_RETRY = 1000;

export class RedisLink {
  readonly #source: ClientSource;
  readonly #calls = new Set<LinkCall>();
  #client: Client | undefined;
  #failure: Error | undefined;
  #closed = false;

  constructor(source: ClientSource) {
    this.#source = source;
  }

  /** Why the connection does not come about, as far as is known. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Asking again is of no use before somebody mends the configuration. */
  get refused(): boolean {
    return this.#closed || (this.#failure !== undefined && isRefusedForGood(this.#failure));
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sends a command, connecting where there is no connection. Arguments and replies are bytes. */
  send(command: string, args: readonly (string | Buffer | number)[]): LinkCall {
    const client = this.#connected();
    const call: LinkCall = { client, sent: client.status === 'ready', reply: this.#reply(client, command, args) };
    this.#calls.add(call);
    if (this.#calls.size === 1) for (const socket of socketsOf(client)) socket.ref();
    const done = (): void => this.#done(call);
    call.reply.then(done, done);
    return call;
  }

  /** Gives a client up, with all that is under way on it. Does nothing where another one took its place already. */
  replace(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    for (const call of this.#calls) if (call.client === client) this.#calls.delete(call);
    client.disconnect();
  }

  close(): void {
    this.#closed = true;
    if (this.#client !== undefined) this.replace(this.#client);
  }

  // Behind an await, so that a client that throws at once rejects instead.
  async #reply(client: Client, command: string, args: readonly (string | Buffer | number)[]): Promise<unknown> {
    return client.callBuffer(command, args as (string | Buffer | number)[]);
  }

  #connected(): Client {
    if (this.#client !== undefined && this.#client.status !== 'end') return this.#client;
    const client = this.#source.open((attempt) => this.#retry(client, attempt));
    this.#client = client;
    this.#failure = undefined;
    client.on('error', (error: Error) => {
      this.#failure = error;
      // ioredis goes on in database 0, among the jobs of others. Here its socket ends before it sends what waits.
      if (isRefusedSelect(error)) client.disconnect();
    });
    client.on('connect', () => {
      if (this.#calls.size === 0) for (const socket of socketsOf(client)) socket.unref();
    });
    client.on('ready', () => {
      this.#failure = undefined;
      for (const call of this.#calls) if (call.client === client) call.sent = true;
    });
    return client;
  }

  #retry(client: Client, attempt: number): number | null {
    if (this.refused || this.#client !== client || this.#calls.size === 0) return null;
    return Math.min(FIRST_RETRY * 2 ** Math.min(attempt - 1, 10), LONGEST_RETRY);
  }

  #done(call: LinkCall): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0 && this.#client === call.client) {
      for (const socket of socketsOf(call.client)) socket.unref();
    }
  }
}

type Socket = { ref(): unknown; unref(): unknown };

function socketsOf(client: Client): readonly Socket[] {
  const nodes = client.isCluster ? (client as { nodes(): Redis[] }).nodes() : [client as Redis];
  return nodes.flatMap(({ stream }) => (stream === undefined || stream === null ? [] : [stream as unknown as Socket]));
}
