/** The `null` driver: takes every job and throws it away, for runs that must not queue anything. */
import { COMMON_KEYS } from '../../application/configuration/configuration';
import type { Diagnosis, Entry } from '../contract';
import { STORELESS, type CommonConfig, type Driver, type Store } from '../driver';
import { StorelessConnection } from '../kit/connection';

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

export class NullConnection extends StorelessConnection {
  readonly driver = 'null';
  readonly address = 'nowhere';
  readonly capabilities = NULL.capabilities;

  async push(_queue: string, _entries: readonly Entry[]): Promise<void> {
    this.checkOpen('push');
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.checkOpen('diagnose');
    return [{ level: 'warning', subject: 'null', message: 'Every job is thrown away.' }];
  }

  protected async end(): Promise<void> {}
}

export const nullDriver: Driver<NullConfig> = {
  name: 'null',
  keys: COMMON_KEYS,
  stores: { null: NULL },
  noMember: 'would throw jobs away; name a connection that keeps them',
  throwsAway: true,
  connect: (_config, { name }) => new NullConnection(name),
};
