/** The `beanstalkd` driver, as it is configured and loaded. */
import { STORE_KEYS } from '../../application/configuration/configuration';
import * as value from '../../application/configuration/configuration-values';
import { problemOfAddress } from '../kit/requirements';
import { JOBS_ALONE, type StoreConfig, type Check, type Driver } from '../driver';

export interface BeanstalkdConfig extends StoreConfig {
  readonly driver: 'beanstalkd';
  /** Host and port; the port is optional, and there are no users or passwords. Default: `beanstalk://127.0.0.1:11300`. */
  readonly url?: string | undefined;
  /** Prefix of every tube's name, for applications that share a server. Default: none. */
  readonly prefix?: string | undefined;
  /** The priority that jobs pushed by this connection have in their tube: 1 runs first, 1023 last. Default: 512. */
  readonly priority?: number | undefined;
}

declare module '../driver' {
  interface Drivers {
    beanstalkd: BeanstalkdConfig;
  }
}

const address = value.address(/^beanstalkd?:\/\//, 'beanstalk://127.0.0.1:11300');

/** There is nobody to tell a password to, and nothing behind the port. */
const url: Check = (given) => {
  const problem = address(given) ?? problemOfAddress(given as string);
  if (problem !== undefined) return problem;
  return /^\w+:\/\/(\[[\da-f:.]+\]|[\w.-]+)(:\d+)?\/?$/i.test(given as string)
    ? undefined
    : 'expected a host and a port alone, such as beanstalk://127.0.0.1:11300: beanstalkd knows neither users nor passwords';
};

export const beanstalkdDriver: Driver<BeanstalkdConfig> = {
  name: 'beanstalkd',
  keys: {
    ...STORE_KEYS,
    url: { check: url, isAddress: true },
    prefix: { check: value.text },
    priority: { check: value.integer(1, 1023) },
  },
  // A job keeps the place of its age, whether it was delayed or released, and the server shows only the first of a state.
  stores: { beanstalkd: JOBS_ALONE },
  connect: (config, context) => {
    const { BeanstalkdConnection } = require('./connection') as typeof import('./connection');
    return new BeanstalkdConnection(config, context);
  },
};
