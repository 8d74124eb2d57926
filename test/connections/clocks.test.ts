/** Applications whose clocks are an hour off still push, run and give back jobs at the right times. */
import { JobBus } from '../../src/dispatch/bus';
import { systemClock, type Clock } from '../../src/base/clock';
import { builtInConnectors } from '../../src/connections/built-in';
import { Job } from '../../src/job/job';
import { silentLogger } from '../../src/base/logger';
import type { ConnectionConfig } from '../../src/connections/driver';
import { QueueManager } from '../../src/application/queue-manager';
import { Worker } from '../../src/worker/worker';
import { startMariadbServer } from '../support/mariadb-server';
import { startPostgresServer } from '../support/postgres-server';
import { startRedisServer } from '../support/redis-server';

const HOUR = 3_600_000;
const TEN_MINUTES = 600_000;
/** The longest time that a test may take, far below the hour by which the clocks are off. */
const LEEWAY = 120_000;

let ran: string[] = [];
/** The time until which `Returning` releases itself. */
let back: Date | undefined;

@Job({ name: 'clocks:Dated' })
class Dated extends Job {
  handle(): void {
    ran.push(this.id);
  }
}

@Job({ name: 'clocks:Limited', retryUntil: '10m' })
class Limited extends Job {
  handle(): void {
    ran.push(this.id);
  }
}

@Job({ name: 'clocks:Returning', tries: 2 })
class Returning extends Job {
  handle(): void {
    this.release(back);
  }
}

@Job({ name: 'clocks:Failing', tries: 2 })
class Failing extends Job {
  handle(): void {
    throw new Error('busy until then');
  }
  backoff(): Date {
    return back!;
  }
}

const servers: { readonly stop: () => Promise<void> }[] = [];
const configs: Record<string, ConnectionConfig> = {};

beforeAll(async () => {
  const [redis, postgres, mariadb] = await Promise.all([
    startRedisServer(),
    startPostgresServer(),
    startMariadbServer(),
  ]);
  servers.push(redis, postgres, mariadb);
  configs['Redis'] = { driver: 'redis', url: redis.url };
  configs['PostgreSQL'] = { driver: 'database', url: postgres.url };
  configs['MariaDB'] = { driver: 'database', url: mariadb.url };
  for (const config of Object.values(configs)) {
    const manager = managerWith(config, systemClock);
    await manager.driver().migrations?.run();
    await manager.close();
  }
});

afterAll(async () => {
  for (const server of servers) await server.stop();
});

function managerWith(config: ConnectionConfig, clock: Clock): QueueManager {
  const environment = { connectors: builtInConnectors, logger: silentLogger, clock };
  return new QueueManager(environment, { default: 'main', connections: { main: config } });
}

describe.each(['Redis', 'PostgreSQL', 'MariaDB'])('on %s', (store) => {
  describe.each([
    ['ahead', HOUR],
    ['behind', -HOUR],
  ])('a client whose clock is an hour %s', (_, off) => {
    let client: QueueManager;
    let bus: JobBus;

    beforeEach(() => {
      ran = [];
      client = managerWith(configs[store]!, { ...systemClock, now: () => systemClock.now() + off });
      bus = new JobBus(() => client);
    });

    afterEach(async () => {
      await client.driver().queues.clear!('default');
      await client.failed.flush();
      await client.close();
    });

    const work = () => new Worker({ stopWhenEmpty: true, tries: 1 }, client).run();
    const waiting = async () => (await client.driver().queues.peek!('default', 'delayed', 10)).map(({ at }) => at);

    it('stores a due time unchanged', async () => {
      const due = new Date(Date.now() + TEN_MINUTES);

      await bus.dispatch(new Dated()).delay(due);

      expect(await waiting()).toEqual([due.getTime()]);
    });

    it('counts the duration of retryUntil from the time of the store', async () => {
      await bus.dispatch(new Limited());

      const [job] = await client.driver().queues.peek!('default', 'ready', 1);
      const { retryUntil } = JSON.parse(String(job!.payload)) as { retryUntil: number };
      expect(Math.abs(retryUntil * 1000 - (Date.now() + TEN_MINUTES))).toBeLessThan(LEEWAY);
    });

    it('runs a job whose retryUntil is still to come, and fails one whose retryUntil has passed', async () => {
      const until = (ms: number) => Math.round((Date.now() + ms) / 1000);
      const payload = (id: string, field: string, ms: number) =>
        `{"job":"clocks:Dated@handle","data":{},"id":"${id}","${field}":${until(ms)},"attempts":0}`;
      const queue = client.connection();
      for (const field of ['retryUntil', 'timeoutAt']) {
        await queue.pushRaw(payload(`${field}-open`, field, TEN_MINUTES));
        await queue.pushRaw(payload(`${field}-over`, field, -TEN_MINUTES));
      }

      await work();

      expect(ran.toSorted()).toEqual(['retryUntil-open', 'timeoutAt-open']);
      const failed = (await client.failed.list()).map(({ id }) => id);
      expect(failed.toSorted()).toEqual(['retryUntil-over', 'timeoutAt-over']);
    });

    it.each([
      ['release()', new Returning()],
      ['backoff()', new Failing()],
    ])('gives a job back until the time from %s', async (_name, job) => {
      back = new Date(Date.now() + TEN_MINUTES);
      await bus.dispatch(job);

      await work();

      expect(await waiting()).toEqual([back.getTime()]);
    });

    it('selects failed jobs by their age in the store', async () => {
      await client.connection().pushRaw('{"job":"clocks:Dated@handle","data":{},"id":"a","retryUntil":1,"attempts":0}');
      await work();

      expect(await client.failed.list({ olderThan: '10m' })).toEqual([]);
      expect(await client.failed.prune({ olderThan: '10m' })).toBe(0);
      expect(await client.failed.list({ olderThan: 0 })).toHaveLength(1);
    });
  });
});
