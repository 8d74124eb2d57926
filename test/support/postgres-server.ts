/** Starts a PostgreSQL for one test, on a free local port, in a temporary folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { give, type OtherUser, otherUser } from './other-user';
import { freePort } from './redis-server';
import { install } from './server-data';

export interface PostgresServer {
  readonly port: number;
  readonly url: string;
  readonly folder: string;
  /** For freezing it. */
  readonly process: ChildProcess;
  /** Ends it like a power failure, and leaves its files. */
  kill(): Promise<void>;
  /** Starts it again on the same port and files. Resolves once it accepts connections. */
  startAgain(): Promise<void>;
  /** Stops the server and removes its folder. Can be called repeatedly. */
  stop(): Promise<void>;
}

const STARTED = 'ready to accept connections';
const DEADLINE_MS = 120_000;
/**
 * Data that reached the operating system survives the end of the server, and need not survive a crash of the machine, so
 * nothing waits for the disk. Otherwise a killed server would sync all its files before it accepts connections again.
 */
const COMMON = ['listen_addresses=127.0.0.1', 'logging_collector=off', 'max_connections=60', 'fsync=off'];
/** Committed data may be lost with the server. */
const NOT_DURABLE = ['synchronous_commit=off', 'full_page_writes=off'];

export interface PostgresServerOptions {
  /** Whether committed data survives `kill`. */
  readonly durable?: boolean;
  /** More arguments for `postgres`, such as `['-c', 'max_connections=5']`. */
  readonly args?: readonly string[];
}

/** @throws if the server is missing or does not start; the message contains its output */
export async function startPostgresServer({
  durable = false,
  args = [],
}: PostgresServerOptions = {}): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'onqueue-postgres-'));
  const user = otherUser('postgres');
  give(folder, user);
  const data = join(folder, 'data');
  const installed = ['-A', 'trust', '-U', 'onqueue', '-E', 'UTF8', '--locale=C', '-N'];
  await install(data, { program: program('initdb'), args: installed, place: ['-D', data] }, user);
  const port = await freePort();
  const settings = [...COMMON, ...(durable ? [] : NOT_DURABLE)].flatMap((setting) => ['-c', setting]);
  const line = ['-D', data, '-p', String(port), '-k', folder, ...settings, ...args];
  let child = await started(line, folder, user);
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    // SIGQUIT shuts PostgreSQL down immediately, including its child processes.
    child.kill('SIGCONT');
    child.kill('SIGQUIT');
    await exited;
  };
  return {
    port,
    url: `postgres://onqueue@127.0.0.1:${port}/postgres`,
    folder,
    get process() {
      return child;
    },
    kill,
    startAgain: async () => {
      child = await started(line, folder, user);
    },
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function started(line: readonly string[], cwd: string, user: OtherUser | undefined): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(program('postgres'), line, { stdio: ['ignore', 'ignore', 'pipe'], cwd, ...user });
    let printed = '';
    const fail = (problem: string): void => {
      clearTimeout(timer);
      child.kill('SIGQUIT');
      reject(new Error(`postgres ${problem}. It printed:\n${printed}`));
    };
    const timer = setTimeout(() => fail(`was not ready after ${DEADLINE_MS} ms`), DEADLINE_MS);
    child.once('error', (error) => fail(`could not be started (${error.message})`));
    child.once('exit', (code) => fail(`ended with ${code}`));
    child.stderr.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      if (!printed.includes(STARTED)) return;
      clearTimeout(timer);
      child.removeAllListeners('exit');
      // Keep reading, because a full pipe would stop the server.
      child.stderr.removeAllListeners('data').resume();
      resolve(child);
    });
  });
}

/** Debian installs the programs of each version in a separate folder. */
function program(name: string): string {
  const versions = '/usr/lib/postgresql';
  const newest = existsSync(versions)
    ? readdirSync(versions)
        .toSorted((a, b) => Number(b) - Number(a))
        .map((version) => join(versions, version, 'bin'))
    : [];
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...newest];
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`${name} was not found: apt-get install postgresql`);
  return found;
}
