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

describeLaravelsTables(new PostgresWorld().forTests(), { migrations, utc });
