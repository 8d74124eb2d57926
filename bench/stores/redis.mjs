/** A Redis of the bench's own: on a free port of this machine, in a folder of its own, without persistence. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.mjs';

const STARTED = 'Ready to accept connections';

/** Microseconds: calls that take longer are kept in the slow log. */
const SLOW = 500;
const SLOW_LOG = ['--slowlog-log-slower-than', String(SLOW), '--slowlog-max-len', '100000'];

/** What runs a script. Redis writes a call of EVALSHA into its log as that. */
const SCRIPT = /^(eval|fcall)/i;

export async function start() {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'onqueue-bench-'));
  const server = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no', ...SLOW_LOG],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const end = () => {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', end);
  await started(server);
  const admin = new Redis({ host: '127.0.0.1', port });
  return {
    address: { host: '127.0.0.1', port },

    versions: { redis: field(await admin.info('server'), 'redis_version') },

    /** Gives a function that says what the server has done since. */
    async watch() {
      await admin.slowlog('RESET');
      const before = await state(admin);
      return async () => {
        const after = await state(admin);
        const since = Object.fromEntries(Object.keys(after).map((key) => [key, after[key] - before[key]]));
        return { ...since, slowCalls: await slowCalls(admin) };
      };
    },

    /** At once, not in the background: what is freed later would count as work of the next run. */
    async clear() {
      await admin.flushall('SYNC');
    },

    async stop() {
      process.off('exit', end);
      admin.disconnect();
      const exited = once(server, 'exit');
      end();
      await exited;
    },
  };
}

function started(server) {
  return new Promise((resolve, reject) => {
    let printed = '';
    server.stdout.setEncoding('utf8').on('data', (text) => {
      // Read on also when it is up: a full pipe would stop the server.
      if (printed.includes(STARTED)) return;
      printed += text;
      if (printed.includes(STARTED)) resolve();
    });
    server.once('error', (error) => reject(new Error('redis-server could not be started', { cause: error })));
    server.once('exit', (code) => reject(new Error(`redis-server ended with ${code}. It printed:\n${printed}`)));
  });
}

async function state(admin) {
  const info = await admin.info('everything');
  const number = (name) => Number(field(info, name));
  return {
    /** Microseconds. */
    cpu: (number('used_cpu_user') + number('used_cpu_sys')) * 1e6,
    /** Times that it read from a client: round trips, with the one that asks for this. */
    requests: number('total_reads_processed'),
    /** Bytes, without the buffers of those who are connected. */
    memory: number('used_memory') - number('mem_clients_normal'),
  };
}

/** Microseconds of each call of a script that was slow. */
async function slowCalls(admin) {
  const entries = await admin.slowlog('GET', -1);
  return entries.filter(([, , , [command]]) => SCRIPT.test(command)).map(([, , microseconds]) => microseconds);
}

function field(info, name) {
  const [, value] = new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info) ?? [];
  if (value === undefined) throw new Error(`Redis does not tell its ${name}.`);
  return value;
}
