/** Starts a MariaDB of a test's own: on a free port of this machine, in a folder of its own. */
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
  readonly socket: string;
  /** To freeze it. */
  readonly process: ChildProcess;
  /** Ends it as a power failure would, and leaves its files. */
  kill(): Promise<void>;
  /** On the same port and files; resolves when it takes connections. */
  startAgain(): Promise<void>;
  /** Ends the server, and removes its folder. May be called again. */
  stop(): Promise<void>;
}

export interface MariadbServerOptions {
  /** Whether what is committed survives `kill`. */
  readonly durable?: boolean;
  /** More arguments of `mariadbd`: `['--max-connections=5']`. */
  readonly args?: readonly string[];
}

const STARTED = 'ready for connections';
const DEADLINE_MS = 120_000;
/** One statement a line, at each start. */
const FIRST_STATEMENTS = `CREATE DATABASE IF NOT EXISTS onqueue;
CREATE USER IF NOT EXISTS onqueue@'%' IDENTIFIED BY 'secret';
GRANT ALL ON *.* TO onqueue@'%';
`;
const LOG_SIZE = '--innodb-log-file-size=16M';
/** Small and quick to start. */
const COMMON = [
  '--bind-address=127.0.0.1',
  '--skip-name-resolve',
  '--skip-log-bin',
  LOG_SIZE,
  '--innodb-buffer-pool-size=64M',
];
/** What a test writes may go with the machine. */
const NOT_DURABLE = [
  // Else each table that is made waits for the disk dozens of times, and most tests make tables of their own.
  '--debug-no-sync',
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-doublewrite=0',
  '--innodb-flush-method=nosync',
];

/** @throws when the server is missing or does not start; the message holds what it printed */
export async function startMariadbServer({
  durable = false,
  args = [],
}: MariadbServerOptions = {}): Promise<MariadbServer> {
  const folder = await mkdtemp(join(tmpdir(), 'onqueue-mariadb-'));
  const user = otherUser('mysql');
  give(folder, user);
  const data = join(folder, 'data');
  const socket = join(folder, 'socket');
  // Of its own: each server removes what it takes for left over from the last one.
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
      // Read on, unheeded: a full pipe would stop the server.
      child.stderr.removeAllListeners('data').resume();
      resolve(child);
    });
  });
}

/** Debian keeps the server outside of what users have on their PATH. */
function program(name: string): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/bin'];
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`${name} was not found: apt-get install mariadb-server`);
  return found;
}
