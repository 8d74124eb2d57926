/** A Redis that writes each command to disk before it answers, and can be killed and restarted with its files. */
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Milliseconds, systemClock } from '../../../src/base/clock';
import { type RedisServer, startRedisServer } from '../../support/redis-server';

const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

export class DurableRedis {
  readonly #folder: string;
  #server: RedisServer;

  private constructor(folder: string, server: RedisServer) {
    this.#folder = folder;
    this.#server = server;
  }

  static async start(): Promise<DurableRedis> {
    const folder = await mkdtemp(join(tmpdir(), 'onqueue-redis-'));
    return new DurableRedis(folder, await startRedisServer({ folder, args: DURABLE }));
  }

  get port(): number {
    return this.#server.port;
  }

  get url(): string {
    return this.#server.url;
  }

  /** Kills it with SIGKILL. Anything that it had not written is gone. */
  async kill(): Promise<void> {
    await this.#server.stop();
  }

  /** Kills it and restarts it after `milliseconds`. Resolves when it accepts connections. */
  async killFor(milliseconds: Milliseconds): Promise<void> {
    await this.kill();
    await new Promise<void>((resolve) => {
      systemClock.after(milliseconds, resolve, true);
    });
    await this.startAgain();
  }

  /** Stops it with SIGTERM like an administrator, so that it closes its connections properly. */
  async shutDown(): Promise<void> {
    const { process } = this.#server;
    const exited = once(process, 'exit');
    process.kill('SIGTERM');
    await exited;
  }

  /** Starts it with the same port and files. Resolves when it accepts connections. */
  async startAgain(): Promise<void> {
    this.#server = await startRedisServer({ port: this.port, folder: this.#folder, args: DURABLE });
  }

  /** Starts it on the same port without its files. */
  async startEmpty(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
    await mkdir(this.#folder);
    await this.startAgain();
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
