/**
 * An address in front of a server that can be made to drop every attempt to connect, as a host behind a firewall does: it
 * neither accepts nor refuses.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { eventually } from '../../support/eventually';

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

  /**
   * Connections that are there stay, and are silent as well. Attempts of others may take places of those that fill the line:
   * it is full when the system says so.
   */
  async fallSilent(): Promise<void> {
    this.#process.kill('SIGSTOP');
    await eventually(() => stateOf(this.#process.pid!) === 'T', { of: 'a listener that stands still' });
    for (let filled = 0; filled < TAKEN; filled += 1) {
      this.#fillers.push(createConnection(this.port, '127.0.0.1').on('error', () => undefined));
    }
    await eventually(() => waitingAt(this.port) === TAKEN, { of: 'a line that is full' });
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

/** As in `ps`: T, it was stopped. */
function stateOf(pid: number): string | undefined {
  return /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
}

/** How many connections the system has taken for a listener that has not accepted them. */
function waitingAt(port: number): number {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  // The address, that of the other side, the state (0A listens), what waits to be sent, and what waits to be taken.
  const line = new RegExp(`: ${address} \\S+ 0A \\w+:(\\w+)`);
  return Number.parseInt(line.exec(readFileSync('/proc/net/tcp', 'utf8'))?.[1] ?? '0', 16);
}
