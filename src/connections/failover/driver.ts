/** The `failover` driver, as it is configured and loaded. */
import { COMMON_KEYS, LEASE_KEY } from '../../application/configuration/configuration';
import { expects } from '../../application/configuration/configuration-values';
import type { Duration } from '../../job/duration';
import type { CommonConfig, Driver } from '../driver';

/** Jobs go to the first of several connections that takes them. Workers and everything else use only the first. */
export interface FailoverConfig extends CommonConfig {
  readonly driver: 'failover';
  /** The names of the connections, in the order in which they are tried. The smallest `maxPayload` among them applies to all. Default: none; required. */
  readonly connections: readonly string[];
  readonly retryAfter?: Duration | undefined;
}

declare module '../driver' {
  interface Drivers {
    failover: FailoverConfig;
  }
}

const NAMES = "the names of two connections or more, such as ['redis', 'database']";

const names = expects(
  NAMES,
  (value) => Array.isArray(value) && value.length > 1 && value.every((name) => typeof name === 'string'),
);

export const failoverDriver: Driver<FailoverConfig> = {
  name: 'failover',
  keys: { ...COMMON_KEYS, connections: { check: names }, ...LEASE_KEY },
  problems: ({ connections }) => (connections === undefined ? [['connections', `missing; expected ${NAMES}`]] : []),
  members: 'connections',
  stores: {},
  // At best this is a longer list, and at worst one without an end.
  noMember: 'is a failover itself; name its connections here',
  connect: ({ connections }, context) => {
    const { FailoverConnection } = require('./connection') as typeof import('./connection');
    return new FailoverConnection(connections, context);
  },
};
