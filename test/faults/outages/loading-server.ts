/** Answers as a Redis that reads its data after a start; from `done` on it is the real one. */
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';

const INFO = '# Persistence\r\nloading:1\r\nloading_eta_seconds:1\r\n';

export class LoadingServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #loading = true;

  private constructor(target: number) {
    this.#server = createServer((client) => {
      const upstream = createConnection(target, '127.0.0.1');
      client.on('data', (chunk) => {
        if (this.#loading) client.write(answersTo(chunk.toString('latin1')));
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

  static async start(target: number): Promise<LoadingServer> {
    const loading = new LoadingServer(target);
    loading.#server.listen(0, '127.0.0.1');
    await once(loading.#server, 'listening');
    return loading;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}/0`;
  }

  done(): void {
    this.#loading = false;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** Commands come whole, and begin with the number of their parts: `*2\r\n$4\r\ninfo\r\n…`. */
function answersTo(text: string): string {
  const commands = [...text.matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)].map(([, name]) => name!.toLowerCase());
  return commands.map(answerTo).join('');
}

function answerTo(command: string): string {
  if (command === 'info') return `$${INFO.length}\r\n${INFO}\r\n`;
  return '-LOADING Redis is loading the dataset in memory\r\n';
}
