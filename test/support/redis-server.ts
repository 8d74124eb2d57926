/** Starts a Redis for one test, on a free local port, in a temporary folder, without persistence. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  readonly folder: string;
  /** For freezing and killing it. */
  readonly process: ChildProcess;
  /** Stops the server and removes its temporary folder. Can be called repeatedly. */
  stop(): Promise<void>;
}

export interface RedisServerOptions {
  /** Default: a free port. */
  readonly port?: number;
  /** Kept when the server stops, so that the next one finds its files. Default: a temporary folder. */
  readonly folder?: string | undefined;
  /** More arguments for `redis-server`, such as `['--requirepass', 'secret']`. */
  readonly args?: readonly string[];
}

const STARTED = 'Ready to accept connections';
const DEADLINE_MS = 120_000;

/** @throws if `redis-server` is missing or does not start; the message contains its output */
export async function startRedisServer({
  port,
  folder: kept,
  args = [],
}: RedisServerOptions = {}): Promise<RedisServer> {
  const chosen = port ?? (await freePort());
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'onqueue-redis-')));
  const common = ['--port', String(chosen), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', [...common, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const stop = async (): Promise<void> => {
    // Not SIGTERM: a frozen server would not receive it.
    child.kill('SIGKILL');
    await exited;
    // Its child that writes a snapshot or log lives a moment longer and may still create files.
    if (kept === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 20 });
  };
  try {
    await started(child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port: chosen, url: `redis://127.0.0.1:${chosen}/0`, folder, process: child, stop };
}

function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let printed = '';
    const fail = (problem: string): void => {
      clearTimeout(timer);
      reject(new Error(`redis-server ${problem}. It printed:\n${printed}`));
    };
    const timer = setTimeout(() => fail(`was not ready after ${DEADLINE_MS} ms`), DEADLINE_MS);
    child.stdout!.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      if (!printed.includes(STARTED)) return;
      clearTimeout(timer);
      // Keep reading, because a full pipe would stop the server.
      child.stdout!.removeAllListeners('data').resume();
      resolve();
    });
    child.stderr!.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    child.once('error', (error) => fail(`could not be started (${error.message}): apt-get install redis-server`));
    child.once('exit', (code) => fail(`ended with ${code}`));
  });
}

/** Below the ephemeral ports: a client could be given one of those before the server is up again. */
const PORTS = { first: 10_000, beyond: 32_000 };

/**
 * Whoever asks for a port listens a moment later, so that another one could be given the same. So each process of a test run has ports
 * of its own, and gives them one after the other.
 */
const PROCESSES = 8;
const OWN = (PORTS.beyond - PORTS.first) / PROCESSES;
const share = Number(process.env['JEST_WORKER_ID'] ?? 0) % PROCESSES;
let last = randomInt(OWN);

/** A port on which nothing listens at the moment. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer();
    last = (last + 1) % OWN;
    const port = PORTS.first + last * PROCESSES + share;
    const isFree = new Promise<boolean>((resolve) => {
      server.once('listening', () => resolve(true));
      server.once('error', () => resolve(false));
    });
    server.listen(port, '127.0.0.1');
    if (!(await isFree)) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
