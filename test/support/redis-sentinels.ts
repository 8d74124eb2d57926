/** Starts a Redis with a replica and three sentinels for one test; they promote the replica if the master dies. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Redis from 'ioredis';
import { eventually } from './eventually';
import { freePort, type RedisServer, startRedisServer } from './redis-server';

const NAME = 'main';
const COUNT = 3;
const QUORUM = 2;

export interface WatchedOptions {
  /** The password of master and replica. */
  readonly password?: string | undefined;
  /** The password of the sentinels. */
  readonly sentinelPassword?: string | undefined;
}

export interface Sentinel {
  readonly host: string;
  readonly port: number;
  readonly process: ChildProcess;
}

export class WatchedRedis {
  readonly name = NAME;
  readonly master: RedisServer;
  readonly replica: RedisServer;
  readonly sentinels: readonly Sentinel[];
  readonly #options: WatchedOptions;
  readonly #folder: string;

  private constructor(
    [master, replica]: readonly [RedisServer, RedisServer],
    sentinels: readonly Sentinel[],
    options: WatchedOptions,
    folder: string,
  ) {
    this.master = master;
    this.replica = replica;
    this.sentinels = sentinels;
    this.#options = options;
    this.#folder = folder;
  }

  static async start(options: WatchedOptions = {}): Promise<WatchedRedis> {
    const { password } = options;
    const secret = password === undefined ? [] : ['--requirepass', password, '--masterauth', password];
    const folder = await mkdtemp(join(tmpdir(), 'onqueue-sentinels-'));
    const master = await startRedisServer({ args: ['--repl-diskless-sync-delay', '0', ...secret] });
    const replica = await startRedisServer({ args: ['--replicaof', '127.0.0.1', String(master.port), ...secret] });
    const sentinels: Sentinel[] = [];
    const watched = new WatchedRedis([master, replica], sentinels, options, folder);
    try {
      for (let count = 0; count < COUNT; count += 1) sentinels.push(await watched.#startSentinel());
      await watched.#agree();
      return watched;
    } catch (error) {
      await watched.stop();
      throw error;
    }
  }

  /** The configuration for a connection. */
  get config() {
    const { password, sentinelPassword } = this.#options;
    return {
      sentinels: this.sentinels.map(({ host, port }) => ({ host, port })),
      name: NAME,
      ...(password !== undefined && { password }),
      ...(sentinelPassword !== undefined && { sentinelPassword }),
    };
  }

  async call(port: number, password: string | undefined, command: string, ...args: string[]): Promise<unknown> {
    const client = new Redis({ port, host: '127.0.0.1', password: password!, protocol: 2, maxRetriesPerRequest: 0 });
    client.on('error', () => undefined);
    try {
      return await client.call(command, ...args);
    } finally {
      client.disconnect();
    }
  }

  /** Resolves once the replica has caught up with the master. */
  async replicated(): Promise<void> {
    const offsetOf = async ({ port }: RedisServer): Promise<string | undefined> =>
      /master_repl_offset:(\d+)/.exec(
        String(await this.call(port, this.#options.password, 'info', 'replication')),
      )?.[1];
    await eventually(async () => (await offsetOf(this.master)) === (await offsetOf(this.replica)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.sentinels.map(({ process }) => ended(process)));
    await Promise.all([this.master.stop(), this.replica.stop()]);
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #startSentinel(): Promise<Sentinel> {
    const port = await freePort();
    const { password, sentinelPassword } = this.#options;
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${this.#folder}`,
      `sentinel monitor ${NAME} 127.0.0.1 ${this.master.port} ${QUORUM}`,
      `sentinel down-after-milliseconds ${NAME} 500`,
      `sentinel failover-timeout ${NAME} 3000`,
      ...(password === undefined ? [] : [`sentinel auth-pass ${NAME} "${password}"`]),
      ...(sentinelPassword === undefined
        ? []
        : [`requirepass "${sentinelPassword}"`, `sentinel sentinel-pass "${sentinelPassword}"`]),
    ];
    const file = join(this.#folder, `${port}.conf`);
    await writeFile(file, `${lines.join('\n')}\n`);
    const process = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
    return { host: '127.0.0.1', port, process };
  }

  // The sentinels promote no replica before they know each other and the replica.
  async #agree(): Promise<void> {
    const fieldsOf = (reply: unknown): string => (reply as string[]).join(' ');
    for (const { port } of this.sentinels) {
      await eventually(
        async () => {
          const master = fieldsOf(await this.call(port, this.#options.sentinelPassword, 'sentinel', 'master', NAME));
          return master.includes('num-slaves 1 ') && master.includes(`num-other-sentinels ${COUNT - 1} `);
        },
        { of: 'sentinels that know each other' },
      );
    }
  }
}

async function ended(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const exited = once(process, 'exit');
  process.kill('SIGKILL');
  await exited;
}
