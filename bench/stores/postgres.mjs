/** A PostgreSQL of the bench's own, as it is installed: what it confirms is on the disk. Runs as a user without rights. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import pg from 'pg';
import { freePort } from './free-port.mjs';

const STARTED = 'ready to accept connections';
const USER = 'bench';

export async function start() {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'onqueue-bench-'));
  const data = join(folder, 'data');
  const options = { cwd: folder, ...unprivileged(folder) };
  execFileSync(program('initdb'), ['-D', data, '-A', 'trust', '-U', USER, '-E', 'UTF8', '--locale=C', '-N'], options);
  const server = spawn(
    program('postgres'),
    ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1'],
    { ...options, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const end = () => {
    // Immediate: its processes end with it.
    server.kill('SIGQUIT');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', end);
  await started(server);
  const urlOf = (database) => `postgres://${USER}@127.0.0.1:${port}/${database}`;
  const admin = new pg.Client(urlOf('postgres'));
  await admin.connect();
  const { rows } = await admin.query('SHOW server_version');
  return {
    address: { url: urlOf(USER) },
    versions: { postgresql: rows[0].server_version.split(' ')[0] },

    async watch() {
      const before = cpu(server.pid);
      return async () => ({ cpu: cpu(server.pid) - before });
    },

    /** A database anew: tables that were full once stay large. */
    async clear() {
      await admin.query(`DROP DATABASE IF EXISTS ${USER} WITH (FORCE)`);
      await admin.query(`CREATE DATABASE ${USER}`);
      // What was left to be written belongs to the run before.
      await admin.query('CHECKPOINT');
    },

    async stop() {
      process.off('exit', end);
      await admin.end();
      const exited = once(server, 'exit');
      server.kill('SIGQUIT');
      await exited;
      end();
    },
  };
}

function started(server) {
  return new Promise((resolve, reject) => {
    let printed = '';
    server.stderr.setEncoding('utf8').on('data', (text) => {
      // Read on also when it is up: a full pipe would stop the server.
      if (printed.includes(STARTED)) return;
      printed += text;
      if (printed.includes(STARTED)) resolve();
    });
    server.once('error', (error) => reject(new Error('postgres could not be started', { cause: error })));
    server.once('exit', (code) => reject(new Error(`postgres ended with ${code}. It printed:\n${printed}`)));
  });
}

/**
 * Microseconds that the server and its processes have worked, in steps of 10 ms. Those that have ended count where their
 * parent has seen to them.
 */
function cpu(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return [pid, ...children].reduce((sum, each) => sum + ticks(each), 0) * 10_000;
}

function ticks(pid) {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return 0;
  // Behind the name, which may hold spaces: the 12th to the 15th field are user, system, and those of ended children.
  const fields = readFileSync(file, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
}

/** PostgreSQL refuses to run as root. */
function unprivileged(folder) {
  if (process.getuid() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const [, , uid, gid] = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  chownSync(folder, Number(uid), Number(gid));
  return { uid: Number(uid), gid: Number(gid) };
}

/** Debian keeps the programs of each version in a folder of its own. */
function program(name) {
  const versions = '/usr/lib/postgresql';
  const installed = existsSync(versions) ? readdirSync(versions).toSorted((one, other) => other - one) : [];
  const folders = [...process.env.PATH.split(delimiter), ...installed.map((each) => join(versions, each, 'bin'))];
  const file = folders.map((each) => join(each, name)).find((each) => existsSync(each));
  if (file === undefined) throw new Error(`${name} was not found: apt-get install postgresql`);
  return file;
}
