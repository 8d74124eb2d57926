/** The libraries of the table: what the line finds there, how each writes by itself, and what is of it but no transaction. */
import { createRequire } from 'node:module';
import { createClient } from '@libsql/client';
import { EntitySchema as MikroSchema, MikroORM } from '@mikro-orm/postgresql';
import { PrismaLibSql } from '@prisma/adapter-libsql';
import { PrismaPg } from '@prisma/adapter-pg';
import { drizzle as drizzleLibsql } from 'drizzle-orm/libsql';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { integer, pgTable } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import { drizzle as drizzleSqlJs } from 'drizzle-orm/sql-js';
import { integer as integerOfSqlite, sqliteTable } from 'drizzle-orm/sqlite-core';
import knexOf from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import Libsql from 'libsql';
import pg from 'pg';
import postgres from 'postgres';
import { Sequelize } from 'sequelize';
import sqlJs from 'sql.js';
import { DataSource, EntitySchema } from 'typeorm';

const { PrismaClient } = createRequire(import.meta.url)('@prisma/client');

const orders = pgTable('orders', { id: integer('id').primaryKey() });
const Order = new EntitySchema({ name: 'Order', tableName: 'orders', columns: { id: { type: 'int', primary: true } } });
const MikroOrder = new MikroSchema({
  name: 'Order',
  tableName: 'orders',
  properties: { id: { type: 'integer', primary: true } },
});

export async function libraries(url) {
  const pool = new pg.Pool({ connectionString: url });
  const sql = postgres(url, { onnotice: () => undefined });
  // One of its own: Drizzle changes how it encodes JSON.
  const sqlOfDrizzle = postgres(url, { onnotice: () => undefined });
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  const [db, dbOverPostgresJs] = [drizzlePg(pool), drizzlePostgresJs(sqlOfDrizzle)];
  const dataSource = await new DataSource({ type: 'postgres', url, entities: [Order] }).initialize();
  const orm = await MikroORM.init({ clientUrl: url, entities: [MikroOrder], discovery: { warnWhenNoEntities: false } });
  const kysely = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) });
  const knex = knexOf({ client: 'pg', connection: url });
  const sequelize = new Sequelize(url, { logging: false });
  const drizzled = (tx, id) => tx.insert(orders).values({ id });
  return {
    database: pool,
    ways: {
      'Prisma 7': { scope: { prisma }, write: (tx, id) => tx.order.create({ data: { id } }), outside: [prisma] },
      'Drizzle (node-postgres)': { scope: { db }, write: drizzled, outside: [db] },
      'Drizzle (postgres-js)': { scope: { db: dbOverPostgresJs }, write: drizzled, outside: [dbOverPostgresJs] },
      'TypeORM 1': {
        scope: { dataSource },
        write: (tx, id) => tx.insert(Order, { id }),
        outside: [dataSource, dataSource.manager],
      },
      'MikroORM 6': {
        scope: { orm },
        write: (tx, id) => tx.insert(MikroOrder, { id }),
        outside: [orm.em.fork()],
      },
      'postgres.js 3': {
        scope: { sql },
        write: (tx, id) => tx`INSERT INTO orders (id) VALUES (${id})`,
        outside: [sql],
      },
      'Sequelize 6': {
        scope: { sequelize },
        write: (transaction, id) => sequelize.query('INSERT INTO orders (id) VALUES ($1)', { bind: [id], transaction }),
        outside: [sequelize],
      },
      kysely: {
        scope: { kysely },
        write: (tx, id) => tx.insertInto('orders').values({ id }).execute(),
        outside: [kysely],
      },
      knex: { scope: { knex }, write: (tx, id) => tx('orders').insert({ id }), outside: [knex] },
    },
    async close() {
      await Promise.all([
        prisma.$disconnect(),
        dataSource.destroy(),
        orm.close(),
        kysely.destroy(),
        knex.destroy(),
        sql.end(),
        sqlOfDrizzle.end(),
        sequelize.close(),
      ]);
      await pool.end();
    },
  };
}

const sqliteOrders = sqliteTable('orders', { id: integerOfSqlite('id').primaryKey() });

/** Libraries on files of SQLite, each with a file of its own; its own number of orders is counted. */
export async function onSqlite(name) {
  const { PrismaClient: PrismaOnSqlite } = createRequire(import.meta.url)('./generated/sqlite');
  const url = (of) => `file:./${of}-${name}`;
  const created = (of) => {
    const handle = new Libsql(`./${of}-${name}`);
    handle.exec('CREATE TABLE orders (id integer PRIMARY KEY)');
    return handle;
  };
  const handles = ['prisma', 'drizzle'].map(created);
  const { Database } = await sqlJs();
  const inMemory = new Database();
  inMemory.run('CREATE TABLE orders (id integer PRIMARY KEY)');
  const prisma = new PrismaOnSqlite({ adapter: new PrismaLibSql({ url: url('prisma') }) });
  const client = createClient({ url: url('drizzle') });
  const count = (place) => async () => handles[place].prepare('SELECT count(*) AS n FROM orders').get().n;
  return {
    databases: {
      'Prisma on SQLite': { given: prisma, write: (tx, id) => tx.order.create({ data: { id } }), count: count(0) },
      'Drizzle on SQLite': {
        given: drizzleLibsql(client),
        write: (tx, id) => tx.insert(sqliteOrders).values({ id }),
        count: count(1),
      },
    },
    /** Of Drizzle, but its transactions end when the function returns, whatever that is. */
    synchronous: [drizzleSqlJs(inMemory)],
    writeAtOnce: (tx, id) => tx.insert(sqliteOrders).values({ id }).run(),
    countAtOnce: () => inMemory.exec('SELECT count(*) FROM orders')[0].values[0][0],
    async close() {
      await prisma.$disconnect();
      client.close();
      for (const handle of handles) handle.close();
    },
  };
}
