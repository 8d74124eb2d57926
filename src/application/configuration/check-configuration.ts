/** Checks a configuration once and as a whole: every mistake with its path, what was expected and what may be meant. */
import { isSuspiciouslyManySeconds } from '../../job/duration';
import { nearest } from '../../base/nearest';
import type { JobRegistry } from '../../job/registry';
import { CONFIGURATION_KEYS, DRIVER_KEYS, type Keys, problemsOf, STORE_KEYS } from './configuration-keys';
import { isRecord } from './configuration-values';
import type { Mistake } from '../errors';
import { meantInConfiguration, meantInConnection } from '../../job/foreign-words';

export interface KnownParts {
  /** The drivers that have a connector. */
  readonly drivers: readonly string[];
  readonly registry: JobRegistry;
}

export interface Verdict {
  readonly mistakes: readonly Mistake[];
  /** What is allowed but looks like a slip: numbers that are probably milliseconds. */
  readonly warnings: readonly string[];
}

/** Why a connection of such a driver is no part of a failover. */
const MEMBER_PROBLEMS: Readonly<Record<string, string>> = {
  sync: 'would run jobs within the dispatch; name a connection that keeps them',
  null: 'would throw jobs away; name a connection that keeps them',
  // A longer list at best, and one without an end at worst.
  failover: 'is a failover itself; name its connections here',
};

/** Never throws: what it finds is in the verdict. */
export function checkConfiguration(configuration: unknown, known: KnownParts): Verdict {
  const check = new ConfigurationCheck(known);
  check.configuration(configuration);
  return check;
}

class ConfigurationCheck implements Verdict {
  readonly mistakes: Mistake[] = [];
  readonly warnings: string[] = [];
  readonly #known: KnownParts;

  constructor(known: KnownParts) {
    this.#known = known;
  }

  configuration(value: unknown): void {
    if (!isRecord(value)) {
      this.#mistake(
        '',
        `expected an object like { connections: { … } }, got ${value === undefined ? 'undefined' : kindOf(value)}`,
      );
      return;
    }
    this.#keys(value, '', CONFIGURATION_KEYS, meantInConfiguration);
    const connections = isRecord(value['connections']) ? value['connections'] : {};
    for (const [name, config] of Object.entries(connections)) this.#connection(name, config);
    for (const [name, config] of Object.entries(connections)) this.#members(name, config, connections);
    this.#reference('default', value['default'], connections);
    const { failed } = value;
    if (isRecord(failed)) this.#reference('failed.connection', failed['connection'], connections);
    else this.#reference('failed', failed, connections);
    const names = Object.keys(connections);
    if (value['default'] === undefined && names.length > 1) {
      this.#mistake('default', `missing; with several connections, say which is meant: ${names.join(', ')}`);
    }
    if (Array.isArray(value['jobs'])) value['jobs'].forEach((job, index) => this.#job(job, `jobs[${index}]`));
  }

  #connection(name: string, config: unknown): void {
    const path = `connections.${name}`;
    if (name === '' || /\s/.test(name)) this.#mistake(path, 'a connection needs a name without white space');
    if (!isRecord(config)) {
      this.#mistake(path, `expected an object like { driver: 'redis' }, got ${kindOf(config)}`);
      return;
    }
    const driver = config['driver'];
    const { drivers } = this.#known;
    if (typeof driver !== 'string') {
      this.#mistake(`${path}.driver`, `expected one of ${drivers.join(', ')}, got ${kindOf(driver)}`);
      return;
    }
    if (name === 'sync' && driver !== 'sync') {
      this.#mistake(`${path}.driver`, `the name 'sync' is kept for the driver 'sync'; give this connection another`);
    }
    const keys = DRIVER_KEYS[driver];
    if (keys === undefined) {
      // A driver may be added after this check; one that nearly has a known name is a slip.
      // Nobody who means another must be led to the one that throws jobs away.
      const keeping = drivers.filter((known) => known !== 'null');
      const meant = drivers.includes(driver) ? [] : nearest(driver, keeping);
      if (meant.length > 0) {
        this.#mistake(
          `${path}.driver`,
          `unknown driver '${driver}'; did you mean ${listed(meant)}? (A driver of your own: call Queue.addConnector first.)`,
        );
      }
      this.#values(config, path, STORE_KEYS);
    } else {
      this.#keys(config, path, keys, meantInConnection);
      this.#address(config, path, keys);
      if (driver === 'redis') this.#manyServers(config, path);
    }
  }

  // The default, a server on this machine, is for those who say nothing; this one meant to say something.
  #address(config: Readonly<Record<string, unknown>>, path: string, keys: Keys): void {
    const ways = Object.keys(keys).filter((key) => keys[key]?.isAddress === true && Object.hasOwn(config, key));
    const given = ways.filter((key) => config[key] !== undefined);
    if (given.length > 1) this.#mistake(path, `give only one of ${given.join(', ')}`);
    if (ways.some((key) => config[key] !== undefined && config[key] !== null)) return;
    for (const key of ways.filter((one) => config[one] === undefined)) {
      this.#mistake(
        `${path}.${key}`,
        'undefined. Is an environment variable not set? For the default address, leave the key out',
      );
    }
  }

  #manyServers(config: Readonly<Record<string, unknown>>, path: string): void {
    if (config['sentinels'] !== undefined && config['name'] === undefined) {
      this.#mistake(`${path}.name`, "missing; the sentinels must be told which master, such as name: 'mymaster'");
    }
    if (config['cluster'] !== undefined && (config['db'] ?? 0) !== 0) {
      this.#mistake(`${path}.db`, 'a cluster has database 0 alone; take a prefix of your own to keep jobs apart');
    }
  }

  #members(name: string, config: unknown, connections: Readonly<Record<string, unknown>>): void {
    if (!isRecord(config) || config['driver'] !== 'failover') return;
    if (config['connections'] === undefined) {
      const example = "such as ['redis', 'database']";
      this.#mistake(
        `connections.${name}.connections`,
        `missing; expected the names of two connections or more, ${example}`,
      );
    }
    if (!Array.isArray(config['connections'])) return;
    const members = config['connections'] as readonly unknown[];
    for (const [at, member] of members.entries()) {
      if (typeof member !== 'string') continue;
      const path = `connections.${name}.connections[${at}]`;
      const driver = member === 'sync' ? member : driverOf(connections[member]);
      const problem = MEMBER_PROBLEMS[String(driver)] ?? (members.indexOf(member) < at ? 'is named twice' : undefined);
      if (problem === undefined) this.#reference(path, member, connections);
      else this.#mistake(path, `'${member}' ${problem}`);
    }
  }

  #reference(key: string, name: unknown, connections: Readonly<Record<string, unknown>>): void {
    if (typeof name !== 'string' || Object.hasOwn(connections, name) || name === 'sync') return;
    const names = Object.keys(connections);
    const meant = nearest(name, names);
    this.#mistake(
      key,
      names.length === 0
        ? `there is no connection '${name}'; add it to connections`
        : `there is no connection '${name}'${meant.length > 0 ? `; did you mean ${listed(meant)}?` : `; there is ${names.join(', ')}`}`,
    );
  }

  #job(job: unknown, path: string): void {
    const { registry } = this.#known;
    if (typeof job !== 'function') {
      this.#mistake(path, `expected a class decorated with @Job(), got ${kindOf(job)}`);
    } else if (!registry.knows(job)) {
      this.#mistake(path, `class ${job.name} has neither @Job() nor @Handles() nor @Middleware(); add one above it`);
    }
  }

  #suspicious(value: unknown, path: string): void {
    if (isSuspiciouslyManySeconds(value)) {
      this.warnings.push(
        `${path}: ${value} means ${value} seconds. If milliseconds were meant, write '${value}ms'; if not, '${value}s' says so.`,
      );
    }
  }

  #keys(
    config: Readonly<Record<string, unknown>>,
    path: string,
    keys: Keys,
    meantBy: (key: string) => string | undefined,
  ): void {
    this.#values(config, path, keys);
    for (const key of Object.keys(config)) {
      if (Object.hasOwn(keys, key)) continue;
      const meant = meantBy(key) ?? guess(nearest(key, Object.keys(keys)));
      this.#mistake(join(path, key), `unknown key; ${meant ?? `known are ${Object.keys(keys).join(', ')}`}`);
    }
  }

  #values(config: Readonly<Record<string, unknown>>, path: string, keys: Keys): void {
    for (const [key, problem] of problemsOf(config, keys)) this.#mistake(join(path, key), problem);
    for (const [key, { isShort }] of Object.entries(keys)) {
      if (isShort === true) this.#suspicious(config[key], join(path, key));
    }
  }

  #mistake(path: string, problem: string): void {
    this.mistakes.push({ path, problem });
  }
}

function guess(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : `did you mean ${listed(names)}?`;
}

function listed(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(' or ');
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function driverOf(config: unknown): unknown {
  return isRecord(config) ? config['driver'] : undefined;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return value === undefined ? 'nothing' : `a ${typeof value}`;
}
