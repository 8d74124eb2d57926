/** Stands between a client and its Redis, and does to the connection what networks do. */
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';

export class FaultyProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  readonly #links = new Set<{ lose: boolean; silent: boolean }>();
  #losing = 0;
  #silent = false;
  /** Connections that were ever made through it. */
  connections = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#connect(client));
  }

  static async start(target: number): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}/0`;
  }

  /** The next `count` scripts are carried out; in place of each answer the connection is cut. */
  loseReplies(count = 1): void {
    this.#losing = count;
  }

  /** Takes everything and passes on nothing, on connections that there are and those to come. */
  goSilent(): void {
    this.#silent = true;
    for (const link of this.#links) link.silent = true;
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
    const state = { lose: false, silent: this.#silent };
    this.#links.add(state);
    client.on('data', (chunk) => {
      if (state.silent) return;
      if (this.#losing > 0 && chunk.includes('evalsha')) {
        this.#losing -= 1;
        state.lose = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (state.silent) return;
      if (state.lose) client.destroy();
      else client.write(chunk);
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
}
