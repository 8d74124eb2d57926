/** Fills in what a connection's configuration leaves out. */
import type { Seconds } from '../clock/clock';
import { durationSeconds } from '../job/duration';
import type { ConnectionConfig, StoreConfig } from './configuration';
import { DEFAULT_DEADLINE, DEFAULT_QUEUE, DEFAULT_RETRY_AFTER } from './configuration';
import type { ConnectionSettings } from './connector';

export function settingsOf(name: string, config: ConnectionConfig): ConnectionSettings {
  const { driver, queue, retryAfter, deadline }: { readonly driver: string } & StoreConfig = config;
  return {
    name,
    driver,
    queue: queue ?? DEFAULT_QUEUE,
    retryAfter: seconds(retryAfter, DEFAULT_RETRY_AFTER, `connections.${name}.retryAfter`),
    deadline: seconds(deadline, DEFAULT_DEADLINE, `connections.${name}.deadline`),
  };
}

function seconds(value: StoreConfig['retryAfter'], fallback: Seconds, path: string): Seconds {
  return value === undefined ? fallback : durationSeconds(value, path);
}
