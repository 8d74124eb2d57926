/** Fills in what a connection's configuration omits. */
import type { Seconds } from '../../base/clock';
import { durationSeconds } from '../../job/duration';
import {
  driverNamed,
  type ConnectionConfig,
  type Size,
  type StoreConfig,
  type ConnectionSettings,
} from '../../connections/driver';
import { STORE_KEYS } from './configuration-keys';
import { bytesOfSize } from '../../dispatch/payload-size';

/** @param maxPayload the application's setting for connections that do not set it */
export function settingsOf(name: string, config: ConnectionConfig, maxPayload?: Size): ConnectionSettings {
  const given: { readonly driver: string } & StoreConfig = config;
  const seconds = (key: 'retryAfter' | 'deadline'): Seconds =>
    durationSeconds(given[key] ?? STORE_KEYS[key].default, `connections.${name}.${key}`);
  return {
    name,
    driver: given.driver,
    queue: given.queue ?? STORE_KEYS.queue.default,
    retryAfter: seconds('retryAfter'),
    deadline: seconds('deadline'),
    maxPayload: bytesOfSize(given.maxPayload ?? maxPayload) ?? STORE_KEYS.maxPayload.default,
    ...(given.afterCommit === true && { afterCommit: true }),
  };
}

/** The settings of all connections, by name. */
export function allSettings(
  connections: Readonly<Record<string, ConnectionConfig>>,
  maxPayload?: Size,
): ReadonlyMap<string, ConnectionSettings> {
  const entries = Object.entries(connections);
  const settings = new Map(entries.map(([name, config]) => [name, settingsOf(name, config, maxPayload)]));
  for (const [name, config] of entries) {
    const key = driverNamed(config.driver)?.members;
    if (key === undefined) continue;
    const members = (config as object as Readonly<Record<string, readonly string[]>>)[key] ?? [];
    // Whether a job is accepted must not depend on which member is unreachable.
    const taken = [name, ...members].map((each) => settings.get(each)?.maxPayload ?? Infinity);
    settings.set(name, { ...settings.get(name)!, maxPayload: Math.min(...taken) });
  }
  return settings;
}
