/** The `null` driver: its configuration and how it is loaded. */
import { COMMON_KEYS } from '../../application/configuration/configuration';
import { STORELESS, type CommonConfig, type Driver, type Store } from '../driver';

/** Jobs are thrown away. */
export interface NullConfig extends CommonConfig {
  readonly driver: 'null';
}

declare module '../driver' {
  interface Drivers {
    null: NullConfig;
  }
}

/** What the `null` driver can do without keeping anything. */
export const NULL: Store = { ...STORELESS, capabilities: { ...STORELESS.capabilities, delay: true } };

export const nullDriver: Driver<NullConfig> = {
  name: 'null',
  keys: COMMON_KEYS,
  stores: { null: NULL },
  noMember: 'would throw jobs away; name a connection that keeps them',
  throwsAway: true,
  connect: (_config, { name }) => {
    const { NullConnection } = require('./null-connection') as typeof import('./null-connection');
    return new NullConnection(name);
  },
};
