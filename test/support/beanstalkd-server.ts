/** Starts a beanstalkd for one test, on a free local port, with a clock that the test can move. */
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
  /** For freezing and killing it. */
  readonly process: ChildProcess;
  /** Moves its clock forward if it was started as movable. Resolves once everything due is done. */
  advance(seconds: number): Promise<void>;
  /** Sends a line as any client could and resolves with the answer. */
  say(line: string): Promise<string>;
  /** Stops the server and removes its temporary folder. Can be called repeatedly. */
  stop(): Promise<void>;
}

export interface BeanstalkdOptions {
  /** Default: a free port. */
  readonly port?: number;
  /** A folder in which the server keeps its jobs across restarts. Default: it does not keep them. */
  readonly binlog?: string | undefined;
  /** Whether its clock can be moved. It then reads the time through libfaketime. Default: false. */
  readonly movable?: boolean;
  /** More arguments for `beanstalkd`, such as `['-z', '1048576']`. */
  readonly args?: readonly string[];
}

/** Debian installs servers in folders outside the PATH of ordinary users. */
const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/sbin', '/usr/local/bin'];
const LIBRARIES = ['/usr/lib', '/usr/lib64', '/usr/local/lib'];

/** @throws if `beanstalkd` is missing, or `libfaketime` if the clock should be movable */
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
      // beanstalkd reads its clock at each command and does what is due after it.
      await say('list-tube-used');
      await say('list-tube-used');
    },
    async stop() {
      // Not SIGTERM: a frozen server would not receive it.
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await eventually(() => say('list-tube-used'), { of: 'the start of beanstalkd' });
  return server;
}

/** Finds it in the library folder of any processor architecture. */
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
  // The server answers what it has received before it notices the end of the stream.
  socket.end(`${line}\r\n`);
  await once(socket, 'close');
  return answer;
}
