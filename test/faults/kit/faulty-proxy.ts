/** Stands between a client and its server, and does to the connection what networks do. */
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { type Milliseconds, systemClock } from '../../../src/base/clock';

interface Link {
  readonly client: Socket;
  lose: boolean;
  silent: boolean;
  /** Its answers wait for the end of this. */
  held: Promise<void> | undefined;
}

export class FaultyProxy {
  readonly #server: Server;
  #target: number;
  readonly #sockets = new Set<Socket>();
  readonly #links = new Set<Link>();
  #losing = 0;
  #silent = false;
  #delay: Milliseconds = 0;
  #held: Promise<void> | undefined;
  /** Connections that were ever made through it. */
  connections = 0;
  /** What clients have sent, each time that they did. */
  requests = 0;

  /** What tells a call whose reply can be lost. */
  readonly #call: string;

  private constructor(target: number, call: string) {
    this.#target = target;
    this.#call = call;
    this.#server = createServer((client) => this.#connect(client));
  }

  /** @param call what a request holds whose reply `loseReplies` means; by default a script of Redis */
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

  /** The next `count` calls are carried out; in place of each answer the connection is cut. */
  loseReplies(count = 1): void {
    this.#losing = count;
  }

  /** Each answer takes so much longer; 0: no longer. */
  delay(milliseconds: Milliseconds): void {
    this.#delay = milliseconds;
  }

  /** The answers to a call that comes now, and to what follows it on its connection, wait for what is returned to be called. */
  holdReplies(): () => void {
    let letGo = (): void => undefined;
    this.#held = new Promise((resolve) => (letGo = resolve));
    return () => {
      this.#held = undefined;
      letGo();
    };
  }

  /** New connections lead to another server: the address of a failover. Old ones stay where they are. */
  retarget(port: number): void {
    this.#target = port;
  }

  /** Ends all connections that there are; new ones work. */
  cut(): void {
    for (const { client } of this.#links) client.destroy();
  }

  /** Takes everything and passes on nothing, on connections that there are and those to come. */
  goSilent(): void {
    this.#silent = true;
    this.goHalfOpen();
  }

  /** Only the connections that there are take everything and pass on nothing: their other end is gone, unnoticed. */
  goHalfOpen(): void {
    for (const link of this.#links) link.silent = true;
  }

  /** Goes silent, and heals after `milliseconds`. Resolves with the moment at which it did. */
  async silentFor(milliseconds: Milliseconds): Promise<Milliseconds> {
    this.goSilent();
    await new Promise<void>((resolve) => {
      systemClock.after(milliseconds, resolve, true);
    });
    this.heal();
    return Date.now();
  }

  /** New connections work; the old ones stay as they are. */
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
    if (link.lose) link.client.destroy();
    else link.client.write(chunk);
  }
}
