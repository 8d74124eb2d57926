/** A Redis that saves snapshots and can be kept from saving, so that it refuses writes (MISCONF). */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Redis from 'ioredis';
import { eventually } from '../../support/eventually';
import { type RedisServer, startRedisServer } from '../../support/redis-server';

export class UnsavedRedis {
  readonly server: RedisServer;
  readonly #admin: Redis;
  readonly #folder: string;

  private constructor(server: RedisServer, folder: string) {
    this.server = server;
    this.#folder = folder;
    this.#admin = new Redis(server.url, { protocol: 2 });
  }

  static async start(): Promise<UnsavedRedis> {
    const folder = await mkdtemp(join(tmpdir(), 'onqueue-unsaved-'));
    const args = ['--save', '3600', '1', '--dbfilename', 'snapshot', '--stop-writes-on-bgsave-error', 'yes'];
    return new UnsavedRedis(await startRedisServer({ folder, args }), folder);
  }

  /** Puts a folder in the place of the snapshot, because the user of the test may be allowed to write everywhere. */
  async refuseToSave(): Promise<void> {
    await mkdir(join(this.#folder, 'snapshot'));
    await this.#save('err');
  }

  /** Takes writes all the same. */
  async goOnUnsaved(): Promise<void> {
    await this.#admin.config('SET', 'stop-writes-on-bgsave-error', 'no');
  }

  async saveAgain(): Promise<void> {
    await rm(join(this.#folder, 'snapshot'), { recursive: true });
    await this.#save('ok');
  }

  async stop(): Promise<void> {
    this.#admin.disconnect();
    await this.server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #save(status: 'ok' | 'err'): Promise<void> {
    await this.#admin.bgsave();
    await eventually(async () => {
      const info = await this.#admin.info('persistence');
      return info.includes('rdb_bgsave_in_progress:0') && info.includes(`rdb_last_bgsave_status:${status}`);
    });
  }
}
