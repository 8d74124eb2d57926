/** Connections to a beanstalkd server for one test, which can move its clock. */
import { BeanstalkdConnection, type BeanstalkdContext } from '../../../src/connections/beanstalkd/connection';
import type { BeanstalkdConfig } from '../../../src/connections/beanstalkd/driver';
import type { Reservation, Settlement } from '../../../src/connections/contract';
import { startBeanstalkd, type BeanstalkdOptions, type BeanstalkdServer } from '../../support/beanstalkd-server';
import { MovedClock } from '../../support/moved-clock';
import { reserveFrom } from '../../support/exchange';

export class BeanstalkdWorld {
  readonly server: BeanstalkdServer;
  readonly #connections: BeanstalkdConnection[] = [];
  /** Moved as far as the test has moved the server's, or further, for a deadline to pass. */
  readonly clock = new MovedClock();

  private constructor(server: BeanstalkdServer) {
    this.server = server;
  }

  static async start(options: BeanstalkdOptions = {}): Promise<BeanstalkdWorld> {
    return new BeanstalkdWorld(await startBeanstalkd({ movable: true, ...options }));
  }

  /** Connects, by default with leases of 60 s. */
  connect(config: Partial<BeanstalkdConfig> = {}, context: Partial<BeanstalkdContext> = {}): BeanstalkdConnection {
    const connection = new BeanstalkdConnection(
      { driver: 'beanstalkd', url: this.server.url, ...config },
      {
        name: 'beanstalkd',
        clock: this.clock,
        deadline: 60,
        retryAfter: 60,
        maxPayload: 65_535,
        ...context,
      },
    );
    this.#connections.push(connection);
    return connection;
  }

  async advance(seconds: number): Promise<void> {
    this.clock.advance(seconds);
    await this.server.advance(seconds);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
    await this.server.stop();
  }
}

export const probe = (id: string): string => `{"id":"${id}","attempts":0}`;

export const idOf = ({ payload }: Reservation): unknown => (JSON.parse(payload.toString()) as { id: unknown }).id;

export const completed = (reservation: Reservation): Settlement => ({ outcome: 'completed', reservation });

/** Short calls for tests, on the current connection by default. */
export function callsOf(connection: () => BeanstalkdConnection) {
  const push = (...ids: readonly string[]): Promise<void> =>
    connection().push(
      'default',
      ids.map((id) => ({ payload: probe(id) })),
    );
  const reserve = (more: object = {}, from = connection()) =>
    reserveFrom(from, { queues: ['default'], limit: 10, lease: 60, ...more });
  const reserveOne = async (from = connection()): Promise<Reservation> => {
    const { reservations } = await reserve({ limit: 1 }, from);
    expect(reservations).toHaveLength(1);
    return reservations[0]!;
  };
  const ids = async (): Promise<unknown[]> => (await reserve()).reservations.map(idOf);
  return { push, reserve, reserveOne, ids };
}
