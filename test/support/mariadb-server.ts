/** Starts a MariaDB for one test, on a free local port, in a temporary folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { give, type OtherUser, otherUser } from './other-user';
import { freePort } from './redis-server';
import { install } from './server-data';

export interface MariadbServer {
  readonly port: number;
  readonly url: string;
  readonly folder: string;
  readonly socket: string;
  /** For freezing it. */
  readonly process: ChildProcess;
  /** Ends it like a power failure, and leaves its files. */
  kill(): Promise<void>;
  /** Starts it again on the same port and files. Resolves once it accepts connections. */
  startAgain(): Promise<void>;
  /** Stops the server and removes its folder. Can be called repeatedly. */
  stop(): Promise<void>;
}

export interface MariadbServerOptions {
  /** Whether committed data survives `kill`. */
  readonly durable?: boolean;
  /** More arguments for `mariadbd`, such as `['--max-connections=5']`. */
  readonly args?: readonly string[];
}

const STARTED = 'ready for connections';
const DEADLINE_MS = 120_000;
/** Run at each start, one statement per line. */
const FIRST_STATEMENTS = `CREATE DATABASE IF NOT EXISTS onqueue;
CREATE USER IF NOT EXISTS onqueue@'%' IDENTIFIED BY 'secret';
GRANT ALL ON *.* TO onqueue@'%';
`;
const LOG_SIZE = '--innodb-log-file-size=16M';
/** Makes the server small and quick to start. */
const COMMON = [
  '--bind-address=127.0.0.1',
  '--skip-name-resolve',
  '--skip-log-bin',
  LOG_SIZE,
  '--innodb-buffer-pool-size=64M',
];
/** Test data need not survive a crash of the machine. */
const NOT_DURABLE = [
  // Otherwise each new table waits for the disk dozens of times, and most tests make their own tables.
  '--debug-no-sync',
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-doublewrite=0',
  '--innodb-flush-method=nosync',
];

/** @throws if the server is missing or does not start; the message contains its output */
export async function startMariadbServer({
  durable = false,
  args = [],
}: MariadbServerOptions = {}): Promise<MariadbServer> {
  const folder = await mkdtemp(join(tmpdir(), 'onqueue-mariadb-'));
  const user = otherUser('mysql');
  give(folder, user);
  const data = join(folder, 'data');
  const socket = join(folder, 'socket');
  // Each server needs its own folder for temporary files, because it removes those it believes to be leftovers.
  const common = ['--no-defaults', `--datadir=${data}`, `--tmpdir=${folder}`];
  const installed = ['--auth-root-authentication-method=normal', '--skip-test-db', LOG_SIZE];
  await install(data, { program: program('mariadb-install-db'), args: installed, place: common }, user);
  const statements = join(folder, 'first.sql');
  await writeFile(statements, FIRST_STATEMENTS);
  const port = await freePort();
  const place = [
    `--socket=${socket}`,
    `--port=${port}`,
    `--pid-file=${join(folder, 'pid')}`,
    `--init-file=${statements}`,
  ];
  const line = [...common, ...place, ...COMMON, ...(durable ? [] : NOT_DURABLE), ...args];
  let child = await started(line, folder, user);
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  };
  return {
    port,
    url: `mysql://onqueue:secret@127.0.0.1:${port}/onqueue`,
    folder,
    socket,
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
    const child = spawn(program('mariadbd'), line, { stdio: ['ignore', 'ignore', 'pipe'], cwd, ...user });
    let printed = '';
    const fail = (problem: string): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`mariadbd ${problem}. It printed:\n${printed}`));
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

/** Debian installs the server in a folder outside the PATH of ordinary users. */
function program(name: string): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/bin'];
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`${name} was not found: apt-get install mariadb-server`);
  return found;
}
