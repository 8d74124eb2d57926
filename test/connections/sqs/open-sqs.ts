/** The world of tests of the `sqs` driver: a server, and connections that share its clock. */
import { systemClock } from '../../../src/base/clock';
import { SqsConnection, type SqsContext } from '../../../src/connections/sqs/connection';
import type { SqsConfig } from '../../../src/connections/sqs/driver';
import { MovedClock } from '../../support/moved-clock';
import type { SqsQueueModel } from '../../support/sqs-model';
import { SqsServer } from '../../support/sqs-server';

export const probe = (id: string): string => `{"job":"probe","id":"${id}","attempts":0}`;

export const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

export class SqsWorld {
  server!: SqsServer;
  readonly #open: SqsConnection[] = [];

  static async start(): Promise<SqsWorld> {
    const world = new SqsWorld();
    world.server = await SqsServer.start();
    return world;
  }

  /** Starts the server before the tests of the file, removes its queues before each, and closes what it has opened. */
  forTests(): this {
    beforeAll(async () => {
      this.server = await SqsServer.start();
    });
    beforeEach(() => this.server.reset());
    afterEach(() => this.close());
    afterAll(() => this.stop());
    return this;
  }

  /** Moved as far as the test has moved the server's, or further, for a deadline to pass. */
  readonly clock = new MovedClock();

  advance(seconds: number): void {
    this.clock.advance(seconds);
    this.server.advance(seconds);
  }

  createQueue(name: string, attributes?: Readonly<Record<string, string>>): SqsQueueModel {
    return this.server.createQueue(name, attributes);
  }

  connect(config: Partial<SqsConfig> = {}, context: Partial<SqsContext> = {}): SqsConnection {
    const { prefix, endpoint } = this.server;
    return this.keep(
      new SqsConnection(
        { driver: 'sqs', region: 'eu-west-1', endpoint, prefix, credentials, ...config },
        contextOf({ clock: this.clock, ...context }),
      ),
    );
  }

  /** Closes the connection together with the others. */
  keep(connection: SqsConnection): SqsConnection {
    this.#open.push(connection);
    return connection;
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((connection) => connection.close()));
  }

  async stop(): Promise<void> {
    await this.close();
    await this.server.stop();
  }
}

export function contextOf(context: Partial<SqsContext> = {}): SqsContext {
  return {
    name: 'sqs',
    clock: systemClock,
    deadline: 60,
    retryAfter: 30,
    maxPayload: 1024 * 1024,
    queue: 'default',
    ...context,
  };
}
