/**
 * What `Queue.configure` and `onqueue.config.*` take, and how each key is checked; with the keys that connections of several drivers
 * share. Each driver declares its other keys in its `driver.ts`. A test compares the tables in `docs` with these.
 *
 * A new key needs its line in the interface of its configuration, its row here or in the driver, and the code that acts on it.
 */
import { DEFAULT_MAX_PAYLOAD } from '../../dispatch/payload-limit';
import type { Container } from '../../container/scope';
import type { Class } from '../../base/class';
import type { Logger } from '../../base/logger';
import type { ConnectionConfig, Size, CommonConfig, StoreConfig, Check, Keys, KeysOf } from '../../connections/driver';
import type { EntityAdapter } from '../../payload/entities';
import type { EncryptionConfig } from '../../payload/vault';
import type { HistoryConfig } from '../../connections/application';
import * as value from './configuration-values';
import { isRecord } from '../../payload/values';

/** One of the names, if the compiler knows the literal text; a name from outside is checked when it is used. */
type NameOrText<Name extends string, Given extends string> = string extends Given ? Given : NoInfer<Name>;

export interface FailedConfig<Name extends string = string> {
  readonly connection?: Name | undefined;
  readonly keep?: number | undefined;
}

export interface Configuration<
  Name extends string = string,
  Default extends string = Name,
  Failed extends string = Name,
  Operations extends string = Name,
> {
  /** Connections by name. Default: Redis at `REDIS_URL` if that is set, otherwise a SQLite file in the project's folder. */
  readonly connections?: { readonly [K in Name]?: ConnectionConfig } | undefined;
  /**
   * The connection that is used if none is named; may come from the environment. Default: the only connection; required if there
   * are several.
   */
  readonly default?: NameOrText<Name, Default> | undefined;
  /**
   * The connection that keeps the failed jobs of connections without a failed store of their own. Or `{ connection, keep }`: each
   * store keeps the newest `keep` failed jobs of each queue (10,000; `Infinity` for all), at times about a hundredth more.
   * Default: `default`.
   */
  readonly failed?: NameOrText<Name, Failed> | FailedConfig<NameOrText<Name, Failed>> | undefined;
  /**
   * The connection that keeps schedules, limits and the records of jobs: histories, results, figures, workers. Default: each connection
   * keeps its own; for one that cannot, the connection of `failed`.
   */
  readonly operations?: NameOrText<Name, Operations> | undefined;
  /**
   * What is kept of the attempts of jobs for `Queue.find()`: `{ completed: '1d', sourceLines: false }`; `false`: nothing.
   * Default: attempts that failed, timed out, crashed or were lost, for 7 days, with source lines; completed jobs for an hour.
   */
  readonly history?: false | HistoryConfig | undefined;
  /**
   * Whether workers count outcomes of jobs, bring the counts to the store that `operations` names every ten seconds, and keep
   * records of themselves there that others can see. Default: `true`.
   */
  readonly metrics?: boolean | undefined;
  /** The largest payload of a job, for connections that do not set it themselves: bytes, or `'4mb'`. Default: `'1mb'`. */
  readonly maxPayload?: Size | undefined;
  /**
   * Classes of jobs, handlers and middleware, for bundlers that drop imports without used names. Default: none; importing a
   * decorated class is enough.
   */
  readonly jobs?: readonly Class[] | undefined;
  /** The dependency injection container. Default: tsyringe's root container. */
  readonly container?: Container | undefined;
  /** How entities are loaded that jobs carry: adapters from `onqueue/entities`, or your own. Default: none. */
  readonly entities?: readonly EntityAdapter[] | undefined;
  /**
   * The keys for jobs with `encrypted: true`: `{ use: '2026-11', keys: { '2026-11': process.env.KEY } }`, 32 bytes each, in base64. `use`
   * seals; the others still open: see [secrets](secrets.md). Default: none, and such jobs are refused.
   */
  readonly encryption?: EncryptionConfig | undefined;
  /** A logger in pino's shape: `debug`, `info`, `warn`, `error`. Default: lines on standard error; none under Jest. */
  readonly logger?: Logger | undefined;
  /**
   * Ends what the configuration has opened, such as the application behind `container`. Called by `Queue.close()`, and at the end
   * of a command, after workers have stopped and connections are closed; it may take up to 10 s. Default: none.
   */
  readonly close?: (() => unknown) | undefined;
}

/**
 * Adds types to a configuration: `export default defineConfig({ … })`, or to a function that returns one, which may be async:
 * `export default defineConfig(async () => ({ … }))`. Commands await it; a program passes the result to `Queue.configure`.
 */
export function defineConfig<
  const Name extends string,
  const Default extends string = Name,
  const Failed extends string = Name,
  const Operations extends string = Name,
>(
  configuration: () =>
    | Configuration<Name, Default, Failed, Operations>
    | Promise<Configuration<Name, Default, Failed, Operations>>,
): () => Promise<Configuration<Name, Default, Failed, Operations>>;
export function defineConfig<
  const Name extends string,
  const Default extends string = Name,
  const Failed extends string = Name,
  const Operations extends string = Name,
>(configuration: Configuration<Name, Default, Failed, Operations>): Configuration<Name, Default, Failed, Operations>;
export function defineConfig(
  configuration: Configuration | (() => Configuration | Promise<Configuration>),
): Configuration | (() => Promise<Configuration>) {
  return typeof configuration === 'function' ? async () => configuration() : configuration;
}

/** The keys of every connection. */
export const COMMON_KEYS = {
  driver: { check: value.text },
  queue: { check: value.queueName, default: 'default' },
  maxPayload: { check: value.size, default: DEFAULT_MAX_PAYLOAD },
  afterCommit: { check: value.flag, default: false },
} as const satisfies KeysOf<CommonConfig & { readonly driver: string }>;

export const LEASE_KEY = { retryAfter: { check: value.lease, default: 30, isShort: true } } as const;

/** The keys of every connection with a store. Only these are checked for a driver of the user's own. */
export const STORE_KEYS = {
  ...COMMON_KEYS,
  ...LEASE_KEY,
  deadline: { check: value.span, default: 5, isShort: true },
} as const satisfies KeysOf<StoreConfig & { readonly driver: string }>;

export const FAILED_KEYS = {
  connection: { check: value.text },
  keep: { check: value.countOrInfinity, default: 10_000 },
} as const satisfies KeysOf<FailedConfig>;

export const HISTORY_KEYS = {
  completed: { check: (given) => (given === false ? undefined : value.span(given)) },
  sourceLines: { check: value.flag, default: true },
} as const satisfies KeysOf<HistoryConfig>;

const failed: Check = (given) => (isRecord(given) ? problemWithin(given, FAILED_KEYS) : value.text(given));

const history: Check = (given) => {
  if (given === false) return undefined;
  return isRecord(given) ? problemWithin(given, HISTORY_KEYS) : `expected false or ${namesOf(HISTORY_KEYS)}`;
};

const entities: Check = (given) => {
  if (!Array.isArray(given)) return value.array(given);
  const names = given.map((adapter: unknown) =>
    isRecord(adapter) && isAdapter(adapter) ? (adapter['name'] as string) : undefined,
  );
  const place = names.indexOf(undefined);
  if (place !== -1) return `expected an adapter at [${place}], such as typeorm(dataSource) from 'onqueue/entities'`;
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice && `two adapters are called '${twice}'; give everything to one, as in typeorm({ shop, archive })`;
};

const isAdapter = (given: Readonly<Record<string, unknown>>): boolean =>
  typeof given['name'] === 'string' && ['identify', 'load'].every((method) => typeof given[method] === 'function');

function problemWithin(given: Readonly<Record<string, unknown>>, keys: Keys): string | undefined {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(keys, key));
  if (unknown !== undefined) return `expected ${namesOf(keys)}, got '${unknown}'`;
  return problemsOf(given, keys)[0]?.join(': ');
}

const namesOf = (keys: Keys): string => `{ ${Object.keys(keys).join(', ')} }`;

export const CONFIGURATION_KEYS: KeysOf<Configuration> = {
  default: { check: value.text },
  connections: { check: value.object },
  failed: { check: failed },
  operations: { check: value.text },
  history: { check: history },
  metrics: { check: value.flag },
  maxPayload: { check: value.size },
  jobs: { check: value.array },
  container: { check: value.withMethods('a container', 'resolve') },
  entities: { check: entities },
  encryption: { check: value.object },
  logger: { check: value.withMethods('a logger', 'debug', 'info', 'warn', 'error') },
  close: { check: value.callback },
};

/** What is wrong with the given values, in the order of the table. */
export function problemsOf(
  values: Readonly<Record<string, unknown>>,
  keys: Keys,
): readonly (readonly [key: string, problem: string])[] {
  return Object.entries(keys).flatMap(([key, { check }]) => {
    const problem = values[key] === undefined ? undefined : check(values[key]);
    return problem === undefined ? [] : [[key, problem] as const];
  });
}
