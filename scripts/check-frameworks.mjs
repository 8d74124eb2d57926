/**
 * Runs the small programs on real frameworks in `test/frameworks`, with the package as it would be published.
 *
 * `npm run check:frameworks`, or `npm run check:frameworks -- nest-12 express` for some of them. Each has its own dependencies
 * and lock file, and is installed outside the repository, where dependencies that it does not declare are not found.
 * `--folder <path>` keeps that folder with everything installed in it; `--lock` updates the lock files.
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
  console.error(`There is no program ${unknown.join(', ')}. The programs are: ${all.join(', ')}.`);
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

/** Installs a program; if its lock file is that of the last installation, only this package. */
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

/** Without the digest of this package, which changes with every change of the sources. */
function withoutDigest(text) {
  const lock = JSON.parse(text);
  delete lock.packages['node_modules/onqueue'].integrity;
  return `${JSON.stringify(lock, undefined, 2)}\n`;
}

/** Runs them one after another, each with an empty Redis. They share one PostgreSQL, and create their own databases. */
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
      // Meant for the process that runs this script; Node.js would apply them to the programs too.
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
