/** Tables that Laravel has made, and that both use. */
import { silentLogger } from '../../../../src/logger/console-logger';
import { idOf, payload, PostgresWorld, reserve } from './open-postgres';

/** What Laravel 12's migrations run. */
const laravelsTables = (jobs: string): string => `
  create table "${jobs}" ("id" bigserial not null primary key, "queue" varchar(255) not null, "payload" text not null,
    "attempts" smallint not null, "reserved_at" integer null, "available_at" integer not null, "created_at" integer not null);
  create index "${jobs}_queue_index" on "${jobs}" ("queue");
  create table "failed_${jobs}" ("id" bigserial not null primary key, "uuid" varchar(255) not null, "connection" text not null,
    "queue" text not null, "payload" text not null, "exception" text not null,
    "failed_at" timestamp(0) without time zone not null default CURRENT_TIMESTAMP);
  alter table "failed_${jobs}" add constraint "failed_${jobs}_uuid_unique" unique ("uuid");`;

const laravelsPayload = (uuid: string): string =>
  `{"uuid":"${uuid}","displayName":"App\\\\Jobs\\\\Report","job":"App\\\\Jobs\\\\Report@handle","maxTries":null,"data":{"n":1}}`;

let world: PostgresWorld;

beforeAll(async () => {
  world = await PostgresWorld.start();
}, 60_000);

beforeEach(async () => {
  world.fresh();
  await (await world.client()).query(laravelsTables(world.table));
});

afterEach(() => world.closeAll());
afterAll(() => world.stop());

/** As Laravel's DatabaseQueue does. */
async function laravelPushes(uuid: string, delay = 0): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  await world.rows(
    `insert into "${world.table}" ("queue", "attempts", "reserved_at", "available_at", "created_at", "payload") values ($1, 0, null, $2, $3, $4)`,
    ['default', now + delay, now, laravelsPayload(uuid)],
  );
}

/** The next job that a worker of Laravel's would take. */
const laravelTakes = () =>
  world.rows(
    `select * from "${world.table}" where "queue" = $1 and (("reserved_at" is null and "available_at" <= $2) or "reserved_at" <= $3)
     order by "id" asc limit 1 FOR UPDATE SKIP LOCKED`,
    ['default', Math.floor(Date.now() / 1000), Math.floor(Date.now() / 1000) - 90],
  );

describe('tables that Laravel has made', () => {
  it('get what is missing, and keep what is there', async () => {
    await laravelPushes('before');
    const connection = await world.open();

    const [reservation] = await reserve(connection);

    expect(JSON.parse(reservation!.payload.toString())).toMatchObject({ uuid: 'before', data: { n: 1 }, attempts: 1 });
    expect(typeof idOf(reservation!)).toBe('string');
    expect(await connection.settle([{ outcome: 'completed', reservation: reservation! }])).toEqual(['settled']);
    expect(await world.rows(`select * from "${world.table}"`)).toEqual([]);
  });

  it('hold jobs that come up in the order of their moments, and keep the id that they get', async () => {
    const connection = await world.open();
    await laravelPushes('later', 60);
    await laravelPushes('first');
    await laravelPushes('second');

    const [first, ...others] = await reserve(connection);
    expect(first!.payload.toString()).toContain('"uuid":"first"');
    expect(others.map((job) => JSON.parse(job.payload.toString()) as object)).toMatchObject([{ uuid: 'second' }]);
    expect(await connection.counts('default')).toEqual({ ready: 0, delayed: 1, reserved: 2 });
    world.offset = 61;
    const again = await reserve(connection);
    expect(again.map(({ counters }) => counters.crashes)).toEqual([1, 1, 0]);
    expect(idOf(again[0]!)).toBe(idOf(first!));
  });

  it('hold jobs that can be cancelled by an id of their own', async () => {
    const connection = await world.open();
    await world.rows(
      `insert into "${world.table}" ("queue", "attempts", "available_at", "created_at", "payload") values ('default', 0, 0, 0, $1)`,
      [payload('theirs')],
    );
    expect(await connection.control.cancel('another')).toBe('unknown');
    expect(await connection.control.cancel('theirs')).toBe('removed');
  });

  it('hold our jobs as Laravel reads them: ready ones at once, delayed ones not too early', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('delayed'), delay: 1.5 }]);
    const [delayed] = await world.rows(`select * from "${world.table}"`);
    expect(await laravelTakes()).toEqual([]);
    await connection.push('default', [{ payload: payload('ready') }]);

    const [taken] = await laravelTakes();

    expect(taken).toMatchObject({ payload: payload('ready'), attempts: 0, reserved_at: null, queue: 'default' });
    expect(delayed!['available_at']).toBeGreaterThanOrEqual(Number(delayed!['created_at']) + 2);
    expect(await laravelTakes()).toHaveLength(1);
    await reserve(connection);
    expect(await laravelTakes()).toEqual([]);
  });

  it('hold failed jobs that each side reads', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('ours') }]);
    const [reservation] = await reserve(connection);
    const failure = { id: 'ours', name: 'Probe', exception: 'Error: probe' };
    await connection.settle([
      { outcome: 'failed', reservation: reservation!, counters: reservation!.counters, failure },
    ]);
    await world.rows(
      `insert into "failed_${world.table}" ("uuid", "connection", "queue", "payload", "exception", "failed_at")
       values ('theirs', 'database', 'default', $1, 'Exception: theirs', '2026-11-20 10:00:00')`,
      [laravelsPayload('theirs')],
    );

    const [theirs, ours] = await connection.failed.list({ limit: 10 });

    expect(theirs).toMatchObject({ id: 'theirs', name: '', failedAt: Date.UTC(2026, 10, 20, 10) });
    expect(ours).toMatchObject({ id: 'ours', exception: 'Error: probe' });
    const [row] = await world.rows(
      `select uuid, connection, failed_at > now() - interval '1 day' as recent from "failed_${world.table}" where uuid = 'ours'`,
    );
    expect(row).toEqual({ uuid: 'ours', connection: 'database', recent: true });
    expect(await connection.failed.retry(theirs!, theirs!.payload)).toBe(true);
    expect((await reserve(connection))[0]!.payload.toString()).toContain('"uuid":"theirs"');
  });

  it('are left alone where they are of another kind', async () => {
    const client = await world.client();
    await client.query(`drop table "${world.table}"; create table "${world.table}" (id int, title text)`);
    await expect(world.open({}, { logger: silentLogger })).rejects.toMatchObject({ code: 'E_DATABASE_FOREIGN_TABLE' });
    const rows = await world.rows(`select column_name from information_schema.columns where table_name = $1`, [
      world.table,
    ]);
    expect(rows).toHaveLength(2);
  });
});
