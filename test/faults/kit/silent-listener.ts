/**
 * An address in front of a server that can be made to drop every attempt to connect, as a host behind a firewall does: it
 * neither accepts nor refuses.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';

/** So many attempts the system itself takes for a process that does not; it answers none beyond them. */
const BACKLOG = 1;
const TAKEN = BACKLOG + 1;

/** Hands connections on to a port of this machine. */
const PROGRAM = `
const net = require('node:net');
const server = net.createServer((client) => {
  const target = net.createConnection(Number(process.argv[1]), '127.0.0.1');
  for (const socket of [client, target]) socket.on('error', () => undefined);
  client.on('close', () => target.destroy()).pipe(target);
  target.on('close', () => client.destroy()).pipe(client);
});
server.listen({ port: 0, host: '127.0.0.1', backlog: ${BACKLOG} }, () => console.log(server.address().port));
`;

export class SilentListener {
  readonly port: number;
  readonly #process: ChildProcess;
  #fillers: Socket[] = [];

  private constructor(child: ChildProcess, port: number) {
    this.#process = child;
    this.port = port;
  }

  static async start(target: number): Promise<SilentListener> {
    const child = spawn(process.execPath, ['-e', PROGRAM, String(target)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    return new SilentListener(child, Number(port));
  }

  /** Connections that are there stay, and are silent as well. */
  async fallSilent(): Promise<void> {
    this.#process.kill('SIGSTOP');
    for (let filled = 0; filled < TAKEN; filled += 1) {
      const filler = createConnection(this.port, '127.0.0.1').on('error', () => undefined);
      this.#fillers.push(filler);
      await once(filler, 'connect');
    }
  }

  answer(): void {
    for (const filler of this.#fillers.splice(0)) filler.destroy();
    this.#process.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    for (const filler of this.#fillers.splice(0)) filler.destroy();
    const exited = once(this.#process, 'exit');
    // Not SIGTERM: one that is stopped would not hear it.
    this.#process.kill('SIGKILL');
    await exited;
  }
}
