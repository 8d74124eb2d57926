/** Starts a beanstalkd of a test's own: on a free port of this machine, by a clock that the test may move. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { eventually } from './eventually';
import { freePort } from './redis-server';

export interface BeanstalkdServer {
  readonly port: number;
  readonly url: string;
  /** To freeze and to kill it. */
  readonly process: ChildProcess;
  /** Moves its clock on, where it was started with one. Resolves when it has done what is due. */
  advance(seconds: number): Promise<void>;
  /** Sends a line as any client may, and gives what the server answers. */
  say(line: string): Promise<string>;
  /** Ends the server, and removes a folder of its own. May be called again. */
  stop(): Promise<void>;
}

export interface BeanstalkdOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** The server keeps its jobs there, over a restart too. Default: it keeps none. */
  readonly binlog?: string | undefined;
  /** Its clock can be moved: it then reads the time through libfaketime. Default: false. */
  readonly movable?: boolean;
  /** More arguments of `beanstalkd`: `['-z', '1048576']`. */
  readonly args?: readonly string[];
}

/** Debian puts servers where an ordinary user does not look. */
const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/sbin', '/usr/local/bin'];
const LIBRARIES = ['/usr/lib', '/usr/lib64', '/usr/local/lib'];

/** @throws when `beanstalkd` or, for a clock, `libfaketime` is missing */
export async function startBeanstalkd({
  port,
  binlog,
  movable = false,
  args = [],
}: BeanstalkdOptions = {}): Promise<BeanstalkdServer> {
  const chosen = port ?? (await freePort());
  const folder = mkdtempSync(join(tmpdir(), 'onqueue-beanstalkd-'));
  const offset = join(folder, 'offset');
  writeFileSync(offset, '+0');
  const clock = movable ? { LD_PRELOAD: libfaketime(), FAKETIME_TIMESTAMP_FILE: offset, FAKETIME_NO_CACHE: '1' } : {};
  const command = FOLDERS.map((path) => join(path, 'beanstalkd')).find(existsSync);
  if (command === undefined) throw new Error('beanstalkd is missing: apt-get install beanstalkd');
  const kept = binlog === undefined ? [] : ['-b', binlog];
  const child = spawn(command, ['-l', '127.0.0.1', '-p', String(chosen), ...kept, ...args], {
    env: { ...process.env, ...clock },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const say = (line: string): Promise<string> => answerOf(chosen, line);
  let moved = 0;
  const server: BeanstalkdServer = {
    port: chosen,
    url: `beanstalk://127.0.0.1:${chosen}`,
    process: child,
    say,
    async advance(seconds) {
      moved += seconds;
      writeFileSync(offset, `+${moved}`);
      // It looks at its clock for each command, and does what is due behind it.
      await say('list-tube-used');
      await say('list-tube-used');
    },
    async stop() {
      // Not SIGTERM: a frozen server would not hear it.
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await eventually(() => say('list-tube-used'), { of: 'the start of beanstalkd' });
  return server;
}

/** In one of the folders for the libraries of each kind of processor. */
function libfaketime(): string {
  const folders = LIBRARIES.filter(existsSync).flatMap((parent) => [
    parent,
    ...readdirSync(parent, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(parent, name)),
  ]);
  const found = folders.map((folder) => join(folder, 'faketime/libfaketime.so.1')).find(existsSync);
  if (found === undefined) throw new Error('libfaketime is missing: apt-get install faketime');
  return found;
}

async function answerOf(port: number, line: string): Promise<string> {
  const socket = createConnection(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  // What it holds while it hears that no more is to come, it answers first.
  socket.end(`${line}\r\n`);
  await once(socket, 'close');
  return answer;
}
