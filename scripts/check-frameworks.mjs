/**
 * Runs what stands in `test/frameworks`: small programs on real frameworks, with the package as it would be published.
 *
 * `npm run check:frameworks`, or `npm run check:frameworks -- nest-12 express` for some of them. Each has dependencies and a
 * lock file of its own, and is installed in a folder outside of the repository: what it forgot to name is not found there.
 * `--folder <path>` keeps that folder, and with it what was installed; `--lock` brings the lock files up to date.
 */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'test/frameworks');
const require = createRequire(import.meta.url);
const { values, positionals } = parseArgs({
  options: { folder: { type: 'string' }, lock: { type: 'boolean', default: false } },
  allowPositionals: true,
});

const all = readdirSync(source).filter((name) => existsSync(join(source, name, 'package.json')));
const unknown = positionals.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`There is no trial ${unknown.join(', ')}. The trials are: ${all.join(', ')}.`);
  process.exit(2);
}
const names = positionals.length > 0 ? positionals : all;

const folder =
  values.folder === undefined ? mkdtempSync(join(tmpdir(), 'onqueue-frameworks-')) : resolve(values.folder);
mkdirSync(folder, { recursive: true });
cpSync(join(source, 'support'), join(folder, 'support'), { recursive: true });
let failed = [];
try {
  const tarball = pack();
  for (const name of names) install(name, tarball);
  if (!values.lock) failed = await tried();
} finally {
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
if (failed.length > 0) process.exitCode = 1;

function pack() {
  npm(['run', '--silent', 'build'], root);
  npm(['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], root);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return join(folder, `onqueue-${version}.tgz`);
}

/** What was installed by the same lock file is there already, but for this package. */
function install(name, tarball) {
  const [from, to] = [join(source, name), join(folder, name)];
  const lock = join(from, 'package-lock.json');
  const stamp = join(to, 'node_modules/.installed-by');
  const wanted = existsSync(lock) ? readFileSync(lock, 'utf8') : '';
  const isThere = existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted;
  empty(to, isThere ? 'node_modules' : '');
  cpSync(from, to, { recursive: true, filter: (path) => !path.includes('node_modules') });
  cpSync(tarball, join(to, 'onqueue.tgz'));
  cpSync(join(root, '.npmrc'), join(to, '.npmrc'));
  if (values.lock) {
    npm(['install', '--package-lock-only'], to);
    writeFileSync(lock, withoutDigest(readFileSync(join(to, 'package-lock.json'), 'utf8')));
  } else if (isThere) {
    const installed = join(to, 'node_modules/onqueue');
    empty(installed, 'node_modules');
    run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'], to);
  } else {
    npm(['ci', '--ignore-scripts'], to);
    writeFileSync(stamp, wanted);
  }
}

function empty(path, but) {
  for (const entry of existsSync(path) ? readdirSync(path) : []) {
    if (entry !== but) rmSync(join(path, entry), { recursive: true, force: true });
  }
}

/** The package changes with each change of the sources; all others are held to what they were. */
function withoutDigest(text) {
  const lock = JSON.parse(text);
  delete lock.packages['node_modules/onqueue'].integrity;
  return `${JSON.stringify(lock, undefined, 2)}\n`;
}

/** One after the other, each with an empty Redis; the databases of one PostgreSQL are theirs to make. */
async function tried() {
  require('../test/support/register-typescript.cjs');
  const { startRedisServer } = require('../test/support/redis-server.ts');
  const { startPostgresServer } = require('../test/support/postgres-server.ts');
  const postgres = await startPostgresServer();
  const broken = [];
  try {
    for (const name of names) {
      const redis = await startRedisServer();
      const started = Date.now();
      const env = { ...process.env, REDIS_URL: `redis://127.0.0.1:${redis.port}/0`, DATABASE_URL: postgres.url };
      // Node.js would take these for its own programs: they were meant for the one that runs this.
      for (const variable of ['NODE_OPTIONS', 'NODE_ENV']) delete env[variable];
      const child = spawn('npm', ['run', '--silent', 'check'], { cwd: join(folder, name), env, stdio: 'inherit' });
      const code = await new Promise((end) => child.on('close', end));
      await redis.stop();
      console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${Math.round((Date.now() - started) / 1000)} s)`);
      if (code !== 0) broken.push(name);
    }
  } finally {
    await postgres.stop();
  }
  return broken;
}

function npm(args, cwd) {
  run('npm', [...args, '--no-audit', '--no-fund'], cwd);
}

function run(command, args, cwd) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status === 0) return;
  console.error(`${command} ${args.join(' ')} in ${cwd}\n${stdout}${stderr}`);
  process.exit(1);
}
