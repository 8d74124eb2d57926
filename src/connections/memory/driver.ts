/** The `memory` driver: its configuration and how it is loaded. */
import { COMMON_KEYS, LEASE_KEY } from '../../application/configuration/configuration-keys';
import type { Duration } from '../../job/duration';
import type { CommonConfig } from '../configs';
import type { Driver } from '../driver';
import { ALL_CAPABLE } from '../kit/capabilities';

/** Jobs live in this process, and end with it. */
export interface MemoryConfig extends CommonConfig {
  readonly driver: 'memory';
  readonly retryAfter?: Duration | undefined;
}

declare module '../configs' {
  interface Drivers {
    memory: MemoryConfig;
  }
}

export const memoryDriver: Driver<MemoryConfig> = {
  name: 'memory',
  keys: { ...COMMON_KEYS, ...LEASE_KEY },
  stores: { memory: ALL_CAPABLE },
  connect: (config, context) =>
    (require('./memory-connection') as typeof import('./memory-connection')).connectMemory(config, context),
};
