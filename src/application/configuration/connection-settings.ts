/** Fills in what a connection's configuration leaves out. */
import type { Seconds } from '../../base/clock';
import { durationSeconds } from '../../job/duration';
import type { ConnectionConfig, StoreConfig } from '../../connections/configs';
import { DEFAULT_DEADLINE, DEFAULT_QUEUE, DEFAULT_RETRY_AFTER } from './configuration';
import type { ConnectionSettings } from '../../connections/connector';
import { bytesOfSize, DEFAULT_MAX_PAYLOAD } from '../../dispatch/payload-size';
import type { Size } from '../../connections/configs';

/** @param maxPayload what the application says of connections that say nothing themselves */
export function settingsOf(name: string, config: ConnectionConfig, maxPayload?: Size): ConnectionSettings {
  const { driver, queue, retryAfter, deadline, afterCommit, ...others }: { readonly driver: string } & StoreConfig =
    config;
  return {
    name,
    driver,
    queue: queue ?? DEFAULT_QUEUE,
    retryAfter: seconds(retryAfter, DEFAULT_RETRY_AFTER, `connections.${name}.retryAfter`),
    deadline: seconds(deadline, DEFAULT_DEADLINE, `connections.${name}.deadline`),
    maxPayload: bytesOfSize(others.maxPayload ?? maxPayload) ?? DEFAULT_MAX_PAYLOAD,
    ...(afterCommit === true && { afterCommit }),
  };
}

/** Of all connections, by name. */
export function allSettings(
  connections: Readonly<Record<string, ConnectionConfig>>,
  maxPayload?: Size,
): ReadonlyMap<string, ConnectionSettings> {
  const entries = Object.entries(connections);
  const settings = new Map(entries.map(([name, config]) => [name, settingsOf(name, config, maxPayload)]));
  for (const [name, config] of entries) {
    if (config.driver !== 'failover') continue;
    // Whether a job is taken must not depend on which of them is away.
    const taken = [name, ...config.connections].map((each) => settings.get(each)?.maxPayload ?? Infinity);
    settings.set(name, { ...settings.get(name)!, maxPayload: Math.min(...taken) });
  }
  return settings;
}

function seconds(value: StoreConfig['retryAfter'], fallback: Seconds, path: string): Seconds {
  return value === undefined ? fallback : durationSeconds(value, path);
}
