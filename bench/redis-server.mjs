/** A Redis of the bench's own: on a free port of this machine, in a folder of its own, without persistence. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

const STARTED = 'Ready to accept connections';

export async function startRedisServer() {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'onqueue-bench-'));
  const server = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'],
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

    async version() {
      return field(await admin.info('server'), 'redis_version');
    },

    /** Microseconds that the server has worked since it was started. */
    async cpu() {
      const info = await admin.info('cpu');
      return (Number(field(info, 'used_cpu_user')) + Number(field(info, 'used_cpu_sys'))) * 1e6;
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

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

function field(info, name) {
  const [, value] = new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info) ?? [];
  if (value === undefined) throw new Error(`Redis does not tell its ${name}.`);
  return value;
}
