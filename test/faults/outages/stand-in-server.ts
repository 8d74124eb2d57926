/** Answers in place of a Redis, like one that is loading or too old. After `done` it forwards to the real one. */
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';

/** @param command in lower case */
type Answers = (command: string) => string;

const infoText = (info: string): string => `$${info.length}\r\n${info}\r\n`;

/** Answers like a Redis that is loading its data. */
export const loading: Answers = (command) =>
  command === 'info'
    ? infoText('# Persistence\r\nloading:1\r\nloading_eta_seconds:1\r\n')
    : '-LOADING Redis is loading the dataset in memory\r\n';

/** Answers like a Redis that is too old for our commands. */
export const ofVersion =
  (version: string): Answers =>
  (command) =>
    command === 'info'
      ? infoText(`# Server\r\nredis_version:${version}\r\nloading:0\r\n`)
      : `-ERR unknown command '${command}'\r\n`;

export class StandInServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #stands = true;
  /** The commands that it answered itself. */
  readonly asked: string[] = [];

  private constructor(target: number, answers: Answers) {
    this.#server = createServer((client) => {
      const upstream = createConnection(target, '127.0.0.1');
      client.on('data', (chunk) => {
        const commands = this.#stands ? commandsOf(chunk.toString('latin1')) : [];
        this.asked.push(...commands);
        if (this.#stands) client.write(commands.map(answers).join(''));
        else upstream.write(chunk);
      });
      upstream.on('data', (chunk) => client.write(chunk));
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
    });
  }

  static async start(target: number, answers: Answers): Promise<StandInServer> {
    const server = new StandInServer(target, answers);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}/0`;
  }

  done(): void {
    this.#stands = false;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** Parses commands, which arrive whole and begin with the number of their parts: `*2\r\n$4\r\ninfo\r\n…`. */
function commandsOf(text: string): string[] {
  return [...text.matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)].map(([, name]) => name!.toLowerCase());
}
