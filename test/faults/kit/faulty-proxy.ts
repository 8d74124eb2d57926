/** A proxy between a client and its server that imitates faults of networks. */
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { type Milliseconds, systemClock } from '../../../src/base/clock';

interface Link {
  readonly client: Socket;
  lose: boolean;
  silent: boolean;
  /** The answers of the connection wait until this resolves. */
  held: Promise<void> | undefined;
}

export class FaultyProxy {
  readonly #server: Server;
  #target: number;
  readonly #sockets = new Set<Socket>();
  readonly #links = new Set<Link>();
  #losing = 0;
  /** The answers that were lost since the last call of `loseReplies`. */
  lost = 0;
  #silent = false;
  #delay: Milliseconds = 0;
  #held: Promise<void> | undefined;
  /** The number of connections ever made through it. */
  connections = 0;
  /** Everything that clients have sent, chunk by chunk. */
  requests = 0;

  /** The bytes that identify a call whose reply can be lost. */
  readonly #call: string;

  private constructor(target: number, call: string) {
    this.#target = target;
    this.#call = call;
    this.#server = createServer((client) => this.#connect(client));
  }

  /** @param call the bytes that identify requests whose replies `loseReplies` loses. By default scripts of Redis */
  static async start(target: number, call = 'evalsha'): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target, call);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}/0`;
  }

  /** Cuts the connection in place of the answers to the next `count` calls, which are carried out. */
  loseReplies(count = 1): void {
    this.#losing = count;
    this.lost = 0;
  }

  /** Delays each answer by this time. */
  delay(milliseconds: Milliseconds): void {
    this.#delay = milliseconds;
  }

  /** Holds the answer to the next call, and the ones after it on its connection, until the returned function is called. */
  holdReplies(): () => void {
    let letGo = (): void => undefined;
    this.#held = new Promise((resolve) => (letGo = resolve));
    return () => {
      this.#held = undefined;
      letGo();
    };
  }

  /** Sends new connections to another server, like the address of a failover. Old connections stay. */
  retarget(port: number): void {
    this.#target = port;
  }

  /** Ends all current connections. New ones work. */
  cut(): void {
    for (const { client } of this.#links) client.destroy();
  }

  /** Accepts everything and forwards nothing, on current and new connections. */
  goSilent(): void {
    this.#silent = true;
    this.goHalfOpen();
  }

  /** Makes the current connections accept everything and forward nothing, as if their other end was gone unnoticed. */
  goHalfOpen(): void {
    for (const link of this.#links) link.silent = true;
  }

  /** Goes silent and heals after `milliseconds`. Resolves with the time at which it healed. */
  async silentFor(milliseconds: Milliseconds): Promise<Milliseconds> {
    this.goSilent();
    await new Promise<void>((resolve) => {
      systemClock.after(milliseconds, resolve, true);
    });
    this.heal();
    return Date.now();
  }

  /** Makes new connections work. Old ones stay as they are. */
  heal(): void {
    this.#silent = false;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #connect(client: Socket): void {
    this.connections += 1;
    const upstream = createConnection(this.#target, '127.0.0.1');
    const link: Link = { client, lose: false, silent: this.#silent, held: undefined };
    this.#links.add(link);
    client.on('close', () => this.#links.delete(link));
    client.on('data', (chunk) => {
      this.requests += 1;
      if (link.silent) return;
      if (this.#losing > 0 && chunk.includes(this.#call)) {
        this.#losing -= 1;
        link.lose = true;
      }
      if (chunk.includes(this.#call)) link.held ??= this.#held;
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (this.#delay === 0) this.#answer(link, chunk);
      else systemClock.after(this.#delay, () => this.#answer(link, chunk));
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => one.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  #answer(link: Link, chunk: Buffer): void {
    if (link.silent) return;
    if (link.held !== undefined) {
      const { held } = link;
      void held.then(() => link.client.write(chunk));
      return;
    }
    if (link.lose) {
      this.lost += 1;
      link.client.destroy();
    } else link.client.write(chunk);
  }
}
