/** The `memory` driver: its configuration and how it is loaded. */
import { COMMON_KEYS, LEASE_KEY } from '../../application/configuration/configuration';
import type { Duration } from '../../job/duration';
import { ALL_CAPABLE, type CommonConfig, type Driver } from '../driver';

/** Jobs live in this process, and end with it. */
export interface MemoryConfig extends CommonConfig {
  readonly driver: 'memory';
  /** The lease, in seconds or as `'30s'`. Default: 30 s. */
  readonly retryAfter?: Duration | undefined;
}

declare module '../driver' {
  interface Drivers {
    memory: MemoryConfig;
  }
}

export const memoryDriver: Driver<MemoryConfig> = {
  name: 'memory',
  keys: { ...COMMON_KEYS, ...LEASE_KEY },
  stores: { memory: { capabilities: ALL_CAPABLE, lacks: ['transactions'] } },
  connect: (config, context) =>
    (require('./connection') as typeof import('./connection')).connectMemory(config, context),
};
