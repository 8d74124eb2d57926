/**
 * The keys of a configuration, and those that connections of several drivers take: how each is checked, and what holds without
 * it. Drivers have what else they take in their `driver.ts`. The tables in `docs/connections.md` are held to these.
 *
 * A new key needs its line in the interface of its configuration, its row here or there, and the place that acts on it.
 */
import type { CommonConfig, StoreConfig } from '../../connections/configs';
import type { Check, Keys, KeysOf } from '../../connections/driver';
import { DEFAULT_MAX_PAYLOAD } from '../../dispatch/payload-size';
import type { HistoryConfig } from '../../operations/history/job-histories';
import type { Configuration, FailedConfig } from './configuration';
import * as value from './configuration-values';
import { isRecord } from './configuration-values';

/** What each connection takes. */
export const COMMON_KEYS = {
  driver: { check: value.text },
  queue: { check: value.queueName, default: 'default' },
  maxPayload: { check: value.size, default: DEFAULT_MAX_PAYLOAD },
  afterCommit: { check: value.flag, default: false },
} as const satisfies KeysOf<CommonConfig & { readonly driver: string }>;

export const LEASE_KEY = { retryAfter: { check: value.lease, default: 30, isShort: true } } as const;

/** What connections with a store have in common; a driver of the user's own is held to these alone. */
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
  logger: { check: value.withMethods('a logger', 'debug', 'info', 'warn', 'error') },
  close: { check: value.callback },
};

/** What is wrong with the values that are given, in the order of the table. */
export function problemsOf(
  values: Readonly<Record<string, unknown>>,
  keys: Keys,
): readonly (readonly [key: string, problem: string])[] {
  return Object.entries(keys).flatMap(([key, { check }]) => {
    const problem = values[key] === undefined ? undefined : check(values[key]);
    return problem === undefined ? [] : [[key, problem] as const];
  });
}
