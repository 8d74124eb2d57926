/** The examinations of `check`: each looks at one thing and returns lines. None throws. */
import 'reflect-metadata';
import { basename, isAbsolute } from 'node:path';
import { keysInUse } from '../application/encryption';
import type { QueueManager } from '../application/queue-manager';
import type { Connection, Diagnosis } from '../connections/contract';
import { checkInjection, constructorOwner } from '../container/parameters';
import type { JobDefinition } from '../job/registry';
import { hasHandleAll } from '../job/together';
import type { Class } from '../base/class';
import { placed } from '../job/errors';
import { declaredRoute } from '../job/resolve-options';
import { envelopeIn } from '../payload/envelope';
import { NO_JOBS, shortNamesRemark } from './commands/classes';
import { errorText, HOW_TO_REGISTER } from './errors';
import { counted } from './output';
import { dependenciesOf, installedPackage, ownPackage } from './project-files';

const ok = (subject: string, message: string): Diagnosis => ({ level: 'ok', subject, message });
const warning = (subject: string, message: string): Diagnosis => ({ level: 'warning', subject, message });
const error = (subject: string, message: string): Diagnosis => ({ level: 'error', subject, message });

const OLDEST_NODE = [20, 19] as const;

const PEERS = ['reflect-metadata', 'tsyringe', 'class-transformer'] as const;

/** @param folder the project's folder */
export function diagnoseVersions(folder: string): Diagnosis[] {
  const own = ownPackage();
  return [
    diagnoseNode(process.versions.node),
    ok('onqueue', own.version),
    ...secondCopy('onqueue', own.folder, folder, 'Run the command of the project: npx onqueue.'),
    ...PEERS.flatMap((name) => diagnosePeer(name, own.folder, folder)),
  ];
}

/** Whether production can load the configuration: `npm ci --omit=dev` omits the TypeScript compiler. */
export function diagnoseSource(file: string | undefined, folder: string): Diagnosis[] {
  if (file?.endsWith('.ts') !== true || dependenciesOf(folder).includes('@swc/core')) return [];
  const message =
    'is TypeScript, and @swc/core is not a dependency, or only one for development: without it the file cannot be loaded. ' +
    'Compile it with your other files: onqueue work --config dist/onqueue.config.js.';
  return [warning(basename(file), message)];
}

export function diagnoseNode(version: string): Diagnosis {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
    ? ok('node', version)
    : error('node', `${version} is too old: install ${OLDEST_NODE.join('.')} or newer.`);
}

function diagnosePeer(name: string, ownFolder: string, folder: string): Diagnosis[] {
  const found = installedPackage(name, ownFolder);
  if (found === undefined) {
    return [error(name, `not installed. Run: npm install ${name}`)];
  }
  const remedy = 'Each copy ignores what the other registers. Install only one: npm dedupe.';
  return [ok(name, found.version), ...secondCopy(name, found.folder, folder, remedy)];
}

function secondCopy(name: string, used: string, folder: string, remedy: string): Diagnosis[] {
  const theirs = installedPackage(name, folder);
  if (theirs === undefined || theirs.folder === used) return [];
  return [warning(name, `the project has another copy, ${theirs.version} in ${theirs.folder}. ${remedy}`)];
}

export function diagnoseJobs(manager: QueueManager): Diagnosis[] {
  const jobs = manager.registry.all();
  if (jobs.length === 0) return [warning('jobs', NO_JOBS)];
  const found = jobs.flatMap((job) => [...diagnoseRoute(job, manager), ...diagnoseHandler(job, manager)]);
  const remark = shortNamesRemark(manager);
  if (remark !== undefined) found.push(warning('jobs', remark));
  // A container of the project's own decides how it creates things.
  const untyped = manager.container === undefined ? diagnoseInjection(manager) : [];
  return [ok('jobs', `${jobs.length} registered`), ...found, ...diagnoseLanes(jobs, manager), ...untyped];
}

function diagnoseLanes(jobs: readonly JobDefinition[], manager: QueueManager): Diagnosis[] {
  const laned = jobs.filter(({ options }) => (options.lane ?? false) !== false);
  if (laned.length === 0) return [];
  const found = laned.flatMap(({ name, file, target, options }) => {
    const connection = options.connection ?? manager.routes.of(target).connection ?? manager.defaultConnection;
    if (!manager.connectionNames().includes(connection)) return [];
    const { driver, capabilities, lanes } = manager.driver(connection);
    if (lanes !== undefined || !capabilities.reserve) return [];
    const message = `${placed(name, file)} has a lane, and its connection '${connection}' (${driver}) keeps none: it is refused when it is dispatched.`;
    return [error('jobs', message)];
  });
  const names = laned.map(({ name }) => name).join(', ');
  const message =
    `${names}. Workers of Onqueue 0.1.0 do not see lanes and give such jobs back, and those of Laravel fail them. Beside either, a delayed ` +
    'job may become ready that should be held, and places may stay taken; onqueue recount repairs that.';
  return [ok('lanes', message), ...found];
}

function diagnoseRoute(definition: JobDefinition, manager: QueueManager): Diagnosis[] {
  const { name, file } = definition;
  const { connection } = declaredRoute(definition);
  const known = [...manager.connectionNames(), 'sync'];
  if (connection === undefined || known.includes(connection)) return [];
  const message = `${placed(name, file)} goes to the connection '${connection}', which is not configured; configured are ${known.join(', ')}.`;
  return [error('jobs', message)];
}

function diagnoseHandler({ name, file, target }: JobDefinition, { registry }: QueueManager): Diagnosis[] {
  if ('handle' in target.prototype || hasHandleAll(target) || registry.handlerOf(target) !== undefined) return [];
  const message = `${placed(name, file)} has no handle(), and no class is decorated with @Handles(${target.name}).`;
  return [error('jobs', message)];
}

// Declarations check their own injected tokens. Missing types in a token's own constructor would only show in the first run.
function diagnoseInjection({ registry }: QueueManager): Diagnosis[] {
  const tokens = new Set<unknown>();
  for (const { target } of registry.all()) {
    const handler = registry.handlerOf(target);
    const injections = handler === undefined ? checkInjection(target, 'job') : checkInjection(handler, 'handler');
    for (const { token } of injections) tokens.add(token);
  }
  return [...tokens].flatMap((token) => (typeof token === 'function' ? diagnoseTypes(token) : []));
}

function diagnoseTypes(token: Class): Diagnosis[] {
  const { length } = constructorOwner(token);
  if (length === 0 || Reflect.hasMetadata('design:paramtypes', constructorOwner(token))) return [];
  const message =
    `the constructor of ${token.name} takes ${counted(length, 'parameter')}, and TypeScript emitted no types for them. Put @injectable() ` +
    `above class ${token.name} (tsx and esbuild emit none: write @inject(Token) at each parameter too), or register an instance of it.`;
  return [warning('metadata', message)];
}

export async function diagnoseConnections(manager: QueueManager, isProduction: boolean): Promise<Diagnosis[]> {
  const found = await Promise.all(
    manager.connectionNames().map((name) => diagnoseConnection(manager, name, isProduction)),
  );
  return found.flat();
}

/** Schedules whose occurrences are skipped because of a job that nobody runs. */
export async function diagnoseSchedules(manager: QueueManager): Promise<Diagnosis[]> {
  try {
    return (await manager.schedules.list()).flatMap(({ name, heldBy }) => {
      if (heldBy === undefined || heldBy.state === 'running') return [];
      const message = `its occurrences are skipped because of ${heldBy.name} ${heldBy.id}: ${heldBy.why}. onqueue cancel ${heldBy.id} removes it.`;
      return [warning(`schedule ${name}`, message)];
    });
  } catch {
    // What is wrong with a store or a declaration is said elsewhere.
    return [];
  }
}

const MOST_OPENED = 1000;

/** Keys that jobs need and the configuration does not have; and those that are still needed. */
export async function diagnoseEncryption(manager: QueueManager): Promise<Diagnosis[]> {
  const { use } = manager.vault;
  const encrypted = manager.registry.all().filter(({ options }) => options.encrypted === true);
  const found: Diagnosis[] = [];
  if (use === undefined && encrypted.length > 0) {
    const names = encrypted.map(({ name, file }) => placed(name, file)).join(', ');
    found.push(
      error('encryption', `${names}: encrypted, but the configuration has no \`encryption\`: refused when dispatched.`),
    );
  }
  try {
    const { keys } = await keysInUse(manager, MOST_OPENED);
    for (const { key, isConfigured, seals, waiting, failed } of keys) {
      const jobs = `${counted(waiting, 'job')} that wait and ${counted(failed, 'job')} that failed`;
      if (!isConfigured)
        found.push(warning('encryption', `${jobs} need the key '${key}', which encryption.keys does not have.`));
      else if (seals) found.push(ok('encryption', `seals with '${key}'; ${jobs} need it.`));
      else
        found.push(
          ok('encryption', `${jobs} need the key '${key}'${waiting + failed === 0 ? ', as far as can be seen' : ''}.`),
        );
    }
  } catch {
    // What is wrong with a store is said elsewhere.
  }
  return found;
}

/** Stores that serve tests and single machines well, and are easily left behind in the configuration of a production. */
function diagnoseProduction({ driver, address }: Connection): string | undefined {
  if (driver === 'sync') return 'each job runs where it is dispatched, which waits for it; no worker can take it over.';
  if (driver === 'memory') return 'no other process sees its jobs, and they are lost when this one ends.';
  // The address of a server is a URL.
  if (driver !== 'database' || !isAbsolute(address)) return undefined;
  return 'a SQLite file is shared only by processes of one machine, and goes with the disk of a container.';
}

const MANY_FAILED = 1000;

async function diagnoseFailed(manager: QueueManager, driver: Connection, subject: string): Promise<Diagnosis[]> {
  const count = (await driver.failed?.count()) ?? 0;
  if (count < MANY_FAILED) return [];
  const { keptFailures } = manager;
  const end = keptFailures === Infinity ? '' : `; only the newest ${keptFailures} of each queue are kept`;
  const message = `${count} failed jobs are kept: onqueue failed lists them; onqueue retry and onqueue prune reduce them${end}.`;
  return [warning(`${subject}, failed jobs`, message)];
}

/** Queues of which only so many jobs run at a time: else somebody looks for a worker that stands still. */
async function diagnoseLimits({ control }: Connection, subject: string): Promise<Diagnosis[]> {
  const limits = (await control?.limits?.()) ?? [];
  if (limits.length === 0) return [];
  const texts = limits.map(({ queue, running }) => `at most ${running} of ${queue}`);
  const message = `${texts.join(', ')} run at a time. Workers of Laravel and of Onqueue 0.1.0 do not heed this.`;
  return [ok(`${subject}, limits`, message)];
}

/** Of each queue and state. */
const MOST_WAITING = 100;
const MOST_NAMES = 10;

/** Jobs that workers of this program would give back until they fail: their class was renamed, or nobody imports it. */
async function diagnoseWaiting(
  { registry }: QueueManager,
  { queues }: Connection,
  subject: string,
): Promise<Diagnosis[]> {
  // That nothing is registered is said elsewhere.
  if (registry.all().length === 0 || queues.peek === undefined) return [];
  const found: Diagnosis[] = [];
  for (const queue of await queues.names()) {
    const ready = await queues.peek(queue, 'ready', MOST_WAITING);
    const looked = [...ready, ...(await queues.peek(queue, 'delayed', MOST_WAITING))];
    const unknown = looked.flatMap(({ payload }) => {
      const envelope = envelopeIn(payload);
      // Those of Laravel's classes have workers of their own.
      const isOurs = envelope !== undefined && envelope.kind !== 'illuminate';
      return isOurs && envelope.definitionIn(registry) === undefined ? envelope.name : [];
    });
    if (unknown.length === 0) continue;
    const names = [...new Set(unknown)].toSorted();
    const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
    const message =
      `Looked at ${counted(looked.length, 'waiting job')}; no class here for ${unknown.length} of them: ` +
      `${names.slice(0, MOST_NAMES).join(', ')}${more}. Each waits for a worker that knows it, and fails after about a day. ` +
      `${HOW_TO_REGISTER} If a class was renamed: @Job({ aliases: ['${names[0]}'] }).`;
    found.push(warning(`${subject}, queue ${queue}`, message));
  }
  return found;
}

/** What a store keeps. It may be partly away, as a cluster without one of its masters: then what it says of itself helps. */
async function diagnoseKept(manager: QueueManager, driver: Connection, subject: string): Promise<Diagnosis[]> {
  // The members of a failover are looked at themselves.
  if (driver.failover !== undefined) return [];
  const found: Diagnosis[] = [];
  try {
    found.push(...(await diagnoseFailed(manager, driver, subject)));
    found.push(...(await diagnoseLimits(driver, subject)));
    found.push(...(await diagnoseWaiting(manager, driver, subject)));
  } catch (thrown) {
    found.push(error(subject, errorText(thrown)));
  }
  return found;
}

async function diagnoseConnection(manager: QueueManager, name: string, isProduction: boolean): Promise<Diagnosis[]> {
  const subject = `connection ${name}`;
  try {
    const driver = manager.driver(name);
    const lines = await driver.diagnose();
    const looked = await diagnoseKept(manager, driver, subject);
    // Lines about the driver have its name as subject; lines about a setting of its store have the setting's.
    const isItself = (line: Diagnosis): boolean => [name, driver.driver].includes(line.subject);
    const own = lines.map((line) => ({ ...line, subject: isItself(line) ? subject : `${subject}, ${line.subject}` }));
    const unfit = isProduction ? diagnoseProduction(driver) : undefined;
    const remarks =
      unfit === undefined
        ? []
        : [warning(subject, `NODE_ENV is production, and ${unfit} Use Redis or a database server.`)];
    return [ok(subject, `${driver.driver} at ${driver.address}`), ...remarks, ...looked, ...own];
  } catch (thrown) {
    return [error(subject, errorText(thrown))];
  }
}
