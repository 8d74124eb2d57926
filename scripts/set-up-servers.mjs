/**
 * Finds the servers and the browser that the tests start, and installs missing ones with apt if it is root, as in most
 * containers. Elsewhere it says what to install. `--no-install` only looks.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** One row for each program that tests start. */
const servers = [
  {
    name: 'Redis',
    command: 'redis-server',
    least: '6.2',
    version: /v=(\d+\.\d+)/,
    debian: 'redis-server',
    elsewhere: '`brew install redis` on macOS, `dnf install redis` on Fedora, `apk add redis` on Alpine',
  },
  {
    name: 'PostgreSQL',
    command: 'postgres',
    least: '12',
    version: /PostgreSQL\) (\d+)/,
    debian: 'postgresql',
    elsewhere:
      '`brew install postgresql` on macOS, `dnf install postgresql-server` on Fedora, `apk add postgresql` on Alpine',
  },
  {
    name: 'MariaDB',
    command: 'mariadbd',
    least: '10.6',
    version: /Ver (\d+\.\d+)/,
    debian: 'mariadb-server',
    elsewhere: '`brew install mariadb` on macOS, `dnf install mariadb-server` on Fedora, `apk add mariadb` on Alpine',
  },
  {
    name: 'Beanstalkd',
    command: 'beanstalkd',
    least: '1.10',
    version: /beanstalkd (\d+\.\d+)/,
    argument: '-v',
    debian: 'beanstalkd',
    elsewhere: '`brew install beanstalkd` on macOS, `dnf install beanstalkd` on Fedora, `apk add beanstalkd` on Alpine',
  },
  // Moves the clock of beanstalkd.
  {
    name: 'libfaketime',
    command: 'faketime',
    least: '0.9',
    version: /Version (\d+\.\d+)/,
    debian: 'faketime',
    elsewhere: '`dnf install libfaketime` on Fedora, `apk add libfaketime` on Alpine; on macOS these tests fail',
  },
  // Laravel's packages are where Debian puts them.
  {
    name: "PHP with Laravel's queue",
    command: 'php',
    least: '8.1',
    version: /^PHP (\d+\.\d+)/,
    argument:
      "-rforeach (['Queue', 'Redis', 'Database', 'Events'] as $p) require \"/usr/share/php/Illuminate/$p/autoload.php\";" +
      "if (extension_loaded('redis') && extension_loaded('pdo_pgsql')) echo 'PHP ', PHP_VERSION;",
    debian:
      'php-cli php-redis php-pgsql php-illuminate-queue php-illuminate-redis php-illuminate-database php-illuminate-events',
    systems: 'Debian 12',
    elsewhere: 'there are no packages of it elsewhere: run these tests in a container of Debian 12',
  },
  // Debian's package includes a font. Ubuntu's is a snap, which does not see the folders of the tests.
  {
    name: 'Chromium',
    command: 'chromium',
    otherCommands: ['chromium-browser', 'google-chrome', 'Google Chrome'],
    least: '120',
    version: /Chrom(?:ium|e) (\d+)/,
    debian: 'chromium',
    systems: 'Debian',
    elsewhere:
      'the package of Google Chrome on Ubuntu, `brew install --cask google-chrome` on macOS, `dnf install chromium` on Fedora, `apk add chromium font-dejavu` on Alpine',
  },
];

const MINUTE = 60_000;
/** The folders of servers on Debian and of browsers on macOS, which are not on the path of an ordinary user. */
const otherFolders = [
  '/usr/sbin',
  '/usr/local/sbin',
  '/Applications/Google Chrome.app/Contents/MacOS',
  ...postgresFolders(),
];
const apt = (process.env.PATH ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'apt-get'))
  .find(existsSync);

/** PostgreSQL has a folder for each version. The newest comes first. */
function postgresFolders() {
  const folder = '/usr/lib/postgresql';
  if (!existsSync(folder)) return [];
  const versions = readdirSync(folder).toSorted((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(folder, version, 'bin'));
}

function find({ command, otherCommands = [] }) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...otherFolders];
  return [command, ...otherCommands].flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
}

/** What is wrong with the server. Undefined if it is there and new enough. */
function problemWith(server) {
  const path = find(server);
  if (path === undefined) return `${server.command} is missing`;
  const { stdout } = spawnSync(path, [server.argument ?? '--version'], { encoding: 'utf8', timeout: MINUTE });
  const found = server.version.exec(stdout ?? '')?.[1];
  if (found === undefined) return `${path} is not complete, or tells no version`;
  const older = found.localeCompare(server.least, 'en', { numeric: true }) < 0;
  return older ? `${path} is version ${found}, and the tests need ${server.least} or newer` : undefined;
}

/** Runs apt-get. Tries again for up to three minutes while another process holds its lock. */
function runApt(...args) {
  const deadline = Date.now() + 3 * MINUTE;
  for (;;) {
    const run = spawnSync(apt, ['-o', 'DPkg::Lock::Timeout=60', ...args], {
      stdio: ['ignore', 'inherit', 'pipe'],
      encoding: 'utf8',
      timeout: 10 * MINUTE,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    process.stderr.write(run.stderr ?? '');
    if (run.status === 0) return true;
    if (!/Could not get lock|is another process using it/.test(run.stderr ?? '') || Date.now() > deadline) return false;
    spawnSync('sleep', ['3']);
  }
}

/** Without it, Debian starts a server as soon as it is installed. 101 is its answer for "forbidden". */
const POLICY = '/usr/sbin/policy-rc.d';
const OUR_POLICY = '#!/bin/sh\n# Put here while the servers for the tests of onqueue are installed.\nexit 101\n';

function withoutStartingServices(install) {
  const hasOwn = existsSync(POLICY) && readFileSync(POLICY, 'utf8') !== OUR_POLICY;
  if (hasOwn) return install();
  writeFileSync(POLICY, OUR_POLICY, { mode: 0o755 });
  try {
    return install();
  } finally {
    rmSync(POLICY, { force: true });
  }
}

function install(missing) {
  const packages = missing.flatMap((server) => server.debian.split(' '));
  console.log(`set-up: installing ${packages.join(', ')} by apt.`);
  const add = (...names) => runApt('install', '-q', '-y', '--no-install-recommends', ...names);
  return withoutStartingServices(() => {
    if (!runApt('update', '-q')) return;
    // A package that this system does not have must not prevent the installation of the others.
    if (!add(...packages)) for (const name of packages) add(name);
  });
}

const missing = servers.filter((server) => problemWith(server) !== undefined);
const mayInstall = apt !== undefined && process.getuid?.() === 0 && !process.argv.includes('--no-install');
if (missing.length > 0 && mayInstall) install(missing);

for (const server of servers) {
  const problem = problemWith(server);
  if (problem === undefined) {
    console.log(`set-up: ${server.name} is there (${find(server)}).`);
    continue;
  }
  console.error(
    `set-up: ${problem}. Install ${server.name} ${server.least} or newer ` +
      `(\`sudo apt-get install ${server.debian}\` on ${server.systems ?? 'Debian and Ubuntu'}, ${server.elsewhere}) and run this again.`,
  );
  process.exitCode = 1;
}
