import { inspect } from 'node:util';
import type { BulkInterruptedError } from '../../../../src/dispatch/errors';
import { startBeanstalkd } from '../../../support/beanstalkd-server';
import { eventually } from '../../../support/eventually';
import { describeRefusals, Ends, type Working, Workings } from '../refusals';
import { idOf, payload, reserve } from '../open-database';
import { MysqlWorld } from './open-mysql';
import { settleIn } from '../../../support/exchange';

const world = new MysqlWorld({ args: ['--max-allowed-packet=65536'] }).forTests();
const workings = new Workings();

const main = () => ({ driver: 'database' as const, url: world.server.url, table: world.table });

const trigger = (event: string, condition: string): Promise<unknown> =>
  world.rows(
    `CREATE TRIGGER no_${world.table} BEFORE ${event} ON ${world.table} FOR EACH ROW
     IF ${condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not here'; END IF`,
  );

afterEach(() => workings.close());

describeRefusals(
  async () => {
    await world.connect().migrations.run();
    return { connections: { main: main() }, default: 'main' };
  },
  {
    longExceptions: async () => {
      await world.open();
      await world.rows(`ALTER TABLE failed_${world.table} MODIFY exception VARCHAR(1000) NOT NULL`);
    },
    delays: async () => {
      await world.open();
      await world.rows(`ALTER TABLE ${world.table} ADD CHECK (due_at IS NULL)`);
    },
    removals: async () => {
      await world.open();
      await trigger('DELETE', `OLD.payload LIKE '%"stays"%'`);
    },
    additions: async () => {
      await world.open();
      await trigger('INSERT', `NEW.payload LIKE '%"closed"%'`);
    },
  },
);

describe('a server that accepts only small packets', () => {
  /** A payload that nearly fills a packet, because it is sent as hexadecimal digits. */
  const long = new Ends('fails', 'y'.repeat(28_000));

  async function expectKept({ worker, manager, bus }: Working): Promise<void> {
    await bus.bulk([long, ...Array.from({ length: 40 }, () => new Ends('completes'))]);
    await eventually(() => {
      expect(worker.health()).toMatchObject({ ready: true, outcomes: { completed: 40, failed: 1, lost: 0 } });
      return true;
    });
    const [entry] = await manager.failed.list();
    expect(entry!.exception).toMatch(/^Error: long /);
    expect(entry!.payload).toContain(long.filling);
  }

  it('keeps a failed job with a shortened error if it is too long beside the payload', async () => {
    await world.open();
    await expectKept(workings.start({ connections: { main: main() }, default: 'main' }));
  });

  it('keeps a failed job of another connection in the same way', async () => {
    await world.open();
    const server = await startBeanstalkd();
    const beanstalkd = { driver: 'beanstalkd' as const, url: server.url };
    await expectKept(
      workings.start({ connections: { beanstalkd, main: main() }, default: 'beanstalkd', failed: 'main' }),
    );
    await workings.close();
    await server.stop();
  });

  it('leaves a failed job buried in its own store if it is too long', async () => {
    await world.open();
    const server = await startBeanstalkd();
    const working = workings.start({
      connections: { beanstalkd: { driver: 'beanstalkd', url: server.url }, main: main() },
      default: 'beanstalkd',
      failed: 'main',
    });
    await working.bus.bulk([new Ends('fails', 'z'.repeat(40_000)), new Ends('completes')]);
    await eventually(() => {
      expect(working.worker.health()).toMatchObject({ ready: true, outcomes: { completed: 1, failed: 1 } });
      return true;
    });
    expect(await working.manager.driver().buried!.count('default')).toBe(1);
    expect(working.log.messages('error')[0]).toMatch(/it was buried where it is\..*Raise max_allowed_packet/);
    await workings.close();
    await server.stop();
  });

  it('gets many jobs in several calls, and the job that is too long is named', async () => {
    await world.open();
    const { bus } = workings.start({ connections: { main: { ...main(), queue: 'elsewhere' } }, default: 'main' });
    const many = Array.from({ length: 100 }, () => new Ends('completes', 'x'.repeat(2000)));
    await expect(bus.bulk(many)).resolves.toHaveLength(100);

    const bulk = bus.bulk([new Ends('completes'), new Ends('completes', 'x'.repeat(40_000)), new Ends('completes')]);
    const error = (await bulk.catch((thrown: unknown) => thrown)) as BulkInterruptedError;

    expect(error).toMatchObject({ facts: { unsent: [1] }, cause: { code: 'E_DATABASE_PACKET_TOO_LARGE' } });
    expect(inspect(error)).toContain('1 of 3 jobs was not queued');
    const alone = bus.dispatch(new Ends('completes', 'x'.repeat(40_000)));
    await expect(alone).rejects.toThrow(
      /the server accepts 65536 at once.*; Ends was not queued\. Raise max_allowed_packet/,
    );
  });

  it('hands out a job of another program that is too long to get an id', async () => {
    const connection = await world.open();
    const text = payload('theirs').replace('"id":"theirs"', `"filling":"${'z'.repeat(40_000)}"`);
    await world.rows(
      `INSERT INTO ${world.table} (queue, attempts, available_at, created_at, payload)
       VALUES ('default', 0, 0, 0, CONCAT('${text.slice(0, -1)}', '}'))`,
    );
    await connection.push('default', [{ payload: payload('ours') }]);
    const taken = await reserve(connection);
    expect(taken.map(({ payload: { length } }) => length > 1000)).toEqual([false, true]);
    expect(typeof idOf(taken[1]!)).toBe('string');
    expect(
      await settleIn(
        connection,
        taken.map((reservation) => ({ outcome: 'completed', reservation })),
      ),
    ).toEqual(['settled', 'settled']);
  });
});
