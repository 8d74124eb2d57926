import { describeLaravelsTables } from '../server/laravel';
import { MysqlWorld } from './open-mysql';

const migrations = (jobs: string): string => `
  create table ${jobs} (id bigint unsigned not null auto_increment primary key, queue varchar(255) not null,
    payload longtext not null, attempts tinyint unsigned not null, reserved_at int unsigned null,
    available_at int unsigned not null, created_at int unsigned not null)
    default character set utf8mb4 collate 'utf8mb4_unicode_ci';
  alter table ${jobs} add index ${jobs}_queue_index(queue);
  create table failed_${jobs} (id bigint unsigned not null auto_increment primary key, uuid varchar(255) not null,
    connection text not null, queue text not null, payload longtext not null, exception longtext not null,
    failed_at timestamp not null default CURRENT_TIMESTAMP) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
  alter table failed_${jobs} add unique failed_${jobs}_uuid_unique(uuid);`;

const utc = (moment: string): string => `convert_tz('${moment}', '+00:00', @@time_zone)`;

describeLaravelsTables(new MysqlWorld().forTests(), { migrations, utc });
