import { describeLaravelsTables } from '../server/laravel';
import { PostgresWorld } from './open-postgres';

const migrations = (jobs: string): string => `
  create table "${jobs}" ("id" bigserial not null primary key, "queue" varchar(255) not null, "payload" text not null,
    "attempts" smallint not null, "reserved_at" integer null, "available_at" integer not null, "created_at" integer not null);
  create index "${jobs}_queue_index" on "${jobs}" ("queue");
  create table "failed_${jobs}" ("id" bigserial not null primary key, "uuid" varchar(255) not null, "connection" text not null,
    "queue" text not null, "payload" text not null, "exception" text not null,
    "failed_at" timestamp(0) without time zone not null default CURRENT_TIMESTAMP);
  alter table "failed_${jobs}" add constraint "failed_${jobs}_uuid_unique" unique ("uuid");`;

const utc = (moment: string): string => `'${moment}'`;

const world = new PostgresWorld().forTests();

describeLaravelsTables(world, { migrations, utc });

describe('jobs inserted by another program', () => {
  it('get their ids in one transaction, however many there are', async () => {
    const connection = await world.open();
    await world.rows(
      `insert into "${world.table}" (queue, payload, attempts, available_at, created_at)
       select 'default', '{"id":"' || n || '"}', 0, 0, 0 from generate_series(1, 50) as n`,
    );
    expect(await connection.control.cancel('unknown')).toBe('unknown');
    expect(await world.rows(`select count(distinct xmin::text)::int as n from "${world.table}"`)).toEqual([{ n: 1 }]);
  });
});
