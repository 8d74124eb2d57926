/** Connections to a Redis for one test file, with a key prefix for each test and a clock that the test can move. */
import Redis from 'ioredis';
import { connectRedis, type RedisConnection } from '../../../src/connections/redis/connection';
import type { RedisContext } from '../../../src/connections/redis/store';
import type { Logger } from '../../../src/base/logger';
import type { RedisConfig } from '../../../src/connections/redis/driver';
import { eventually } from '../../support/eventually';
import { MovedClock } from '../../support/moved-clock';
import { freePort, startRedisServer, type RedisServer } from '../../support/redis-server';
import { keyspace } from './keyspace';

export const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let prefixes = 0;

/** One server for a test file. `fresh()` gives each test a prefix of its own. */
export class RedisWorld {
  readonly #server: RedisServer;
  readonly client: Redis;
  /** Passes the deadlines of connections. The scripts have Redis's clock, see `advance`. */
  readonly clock = new MovedClock();
  readonly #connections: RedisConnection[] = [];
  prefix = '';
  offset = 0;

  private constructor(server: RedisServer) {
    this.#server = server;
    this.client = new Redis(server.url, { protocol: 2 });
  }

  static async start(args: readonly string[] = []): Promise<RedisWorld> {
    return new RedisWorld(await startRedisServer({ args }));
  }

  /** A cluster of one node with all slots. Like any cluster it refuses calls across slots. */
  static async startCluster(args: readonly string[] = []): Promise<RedisWorld> {
    const bus = String(await freePort());
    const address = ['--cluster-port', bus, '--cluster-announce-ip', '127.0.0.1'];
    const world = await RedisWorld.start(['--cluster-enabled', 'yes', ...address, ...args]);
    await world.client.call('cluster', 'addslotsrange', 0, 16383);
    await eventually(async () => String(await world.client.call('cluster', 'info')).includes('cluster_state:ok'));
    return world;
  }

  get url(): string {
    return this.#server.url;
  }

  get server(): RedisServer {
    return this.#server;
  }

  fresh(): void {
    this.prefix = `t${++prefixes}:`;
    this.offset = 0;
  }

  connect(config: Partial<RedisConfig> = {}, context: Partial<RedisContext> = {}): RedisConnection {
    const connection = connectRedis(
      { driver: 'redis', url: this.url, prefix: this.prefix, ...config },
      { name: 'redis', clock: this.clock, logger: silent, deadline: 60, offset: () => this.offset, ...context },
    );
    this.#connections.push(connection);
    return connection;
  }

  /** Moves the clock of the scripts. Locks expire by Redis's own clock, so their expiry is moved too. */
  async advance(seconds: number): Promise<void> {
    this.offset += seconds;
    for (const lock of await this.client.keys(`${this.prefix}:lock:*`)) {
      const left = (await this.client.pttl(lock)) - seconds * 1000;
      if (left > 0) await this.client.pexpire(lock, left);
      else await this.client.del(lock);
    }
  }

  /** All keys of the current test with their values. */
  keys(): Promise<Record<string, unknown>> {
    return keyspace(this.client, this.prefix);
  }

  async closeConnections(): Promise<void> {
    await Promise.all(this.#connections.splice(0).map((connection) => connection.close()));
  }

  async stop(): Promise<void> {
    await this.closeConnections();
    this.client.disconnect();
    await this.#server.stop();
  }
}
