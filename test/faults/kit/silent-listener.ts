/**
 * An address in front of a server that can drop every attempt to connect, like a host behind a firewall: it neither
 * accepts nor refuses.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { eventually } from '../../support/eventually';

/** The number of attempts that the system accepts for a process that does not accept them itself. It drops any more. */
const BACKLOG = 1;
const TAKEN = BACKLOG + 1;

/** Forwards connections to a port of this machine. */
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
   * Drops attempts to connect. Current connections stay but are silent too. Other attempts may take places in the backlog
   * while it is filled, so the system is asked whether it is full.
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
    // Not SIGTERM, which a stopped process would not handle.
    this.#process.kill('SIGKILL');
    await exited;
  }
}

/** Whether the process is stopped: state T, as in `ps`. */
function stateOf(pid: number): string | undefined {
  return /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
}

/** The number of connections that the system has accepted for a listener that has not accepted them itself. */
function waitingAt(port: number): number {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  // The local address, the remote one, the state (0A: listening), the send queue and the receive queue.
  const line = new RegExp(`: ${address} \\S+ 0A \\w+:(\\w+)`);
  return Number.parseInt(line.exec(readFileSync('/proc/net/tcp', 'utf8'))?.[1] ?? '0', 16);
}
