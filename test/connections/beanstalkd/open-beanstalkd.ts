/** Connections to a beanstalkd of a test's own, whose clock the test moves on. */
import { systemClock } from '../../../src/clock/clock';
import { connectBeanstalkd } from '../../../src/connections/beanstalkd/beanstalkd-connection';
import type {
  BeanstalkdConnection,
  BeanstalkdContext,
} from '../../../src/connections/beanstalkd/beanstalkd-connection';
import type { BeanstalkdConfig } from '../../../src/queue/configuration';
import { type BeanstalkdOptions, type BeanstalkdServer, startBeanstalkd } from '../../support/beanstalkd-server';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export class BeanstalkdWorld {
  readonly server: BeanstalkdServer;
  readonly #connections: BeanstalkdConnection[] = [];
  #offset = 0;
  /** The clock of this machine, as far as the test has moved it. */
  readonly clock = { ...systemClock, monotonic: () => systemClock.monotonic() + this.#offset };

  private constructor(server: BeanstalkdServer) {
    this.server = server;
  }

  static async start(options: BeanstalkdOptions = {}): Promise<BeanstalkdWorld> {
    return new BeanstalkdWorld(await startBeanstalkd({ movable: true, ...options }));
  }

  /** With leases of 60 s. */
  connect(config: Partial<BeanstalkdConfig> = {}, context: Partial<BeanstalkdContext> = {}): BeanstalkdConnection {
    const connection = connectBeanstalkd(
      { driver: 'beanstalkd', url: this.server.url, ...config },
      {
        name: 'beanstalkd',
        clock: this.clock,
        logger: silent,
        deadline: 5,
        retryAfter: 60,
        maxPayload: 65_535,
        ...context,
      },
    );
    this.#connections.push(connection);
    return connection;
  }

  async advance(seconds: number): Promise<void> {
    this.#offset += seconds * 1000;
    await this.server.advance(seconds);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
    await this.server.stop();
  }
}
