/** The `sync` driver: its configuration and how it is loaded. */
import { COMMON_KEYS } from '../../application/configuration/configuration';
import { STORELESS, type CommonConfig, type Driver } from '../driver';

/** Jobs run at once instead of being queued. */
export interface SyncConfig extends CommonConfig {
  readonly driver: 'sync';
}

declare module '../driver' {
  interface Drivers {
    sync: SyncConfig;
  }
}

export const syncDriver: Driver<SyncConfig> = {
  name: 'sync',
  keys: COMMON_KEYS,
  stores: { sync: STORELESS },
  noMember: 'would run jobs within the dispatch; name a connection that keeps them',
  connect: (_config, context) => {
    const { SyncConnection } = require('./connection') as typeof import('./connection');
    return new SyncConnection(context);
  },
};
