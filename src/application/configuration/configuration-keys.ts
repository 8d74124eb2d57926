/**
 * The keys of a configuration, and the keys that connections of several drivers share: how each is checked, and its default. Each
 * driver declares its other keys in its `driver.ts`. A test compares the tables in `docs/connections.md` with these.
 *
 * A new key needs its line in the interface of its configuration, its row here or in the driver, and the code that acts on it.
 */
import type { CommonConfig, StoreConfig, Check, Keys, KeysOf } from '../../connections/driver';
import { DEFAULT_MAX_PAYLOAD } from '../../dispatch/payload-size';
import type { HistoryConfig } from '../../operations/history/job-histories';
import type { Configuration, FailedConfig } from './configuration';
import * as value from './configuration-values';
import { isRecord } from '../../payload/kinds';

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
  completed: { check: value.span },
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
