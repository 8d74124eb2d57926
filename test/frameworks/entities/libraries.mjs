/** Each library with a class `Order`, one `Seat` whose key has two columns, and what it asked the database. */
import { MikroORM, EntityManager, EntitySchema as MikroSchema } from '@mikro-orm/postgresql';
import { drizzle } from 'drizzle-orm/node-postgres';
import { inArray } from 'drizzle-orm';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import knexOf from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import mongooseLibrary from 'mongoose';
import { mikroOrm, mongoose, reference, rows, sequelize, typeorm } from 'onqueue/entities';
import pg from 'pg';
import { DataTypes, Sequelize } from 'sequelize';
import { DataSource, EntitySchema } from 'typeorm';
import { startMongoServer } from './mongo-server.mjs';

class Order {}
class Seat {}
class MikroOrder {}
class MikroSeat {}

const schema = `
  CREATE TABLE orders (id serial PRIMARY KEY, name text NOT NULL, "deletedAt" timestamptz);
  CREATE TABLE seats (hall text, place integer, name text NOT NULL, PRIMARY KEY (hall, place));`;

/** @param queries what the libraries asked is added here */
export async function libraries(url, queries) {
  const pool = new pg.Pool({ connectionString: url });
  await pool.query(schema);
  const log = (query) =>
    void (/^\s*select|^Executing.*SELECT/i.test(query) && /orders|seats/.test(query) && queries.push(query));
  const made = [
    await withTypeOrm(url, log),
    await withMikroOrm(url, log),
    await withSequelize(url, log),
    await withMongoose(queries),
  ];
  const [tables, closeTables] = withRows(url, pool, queries);
  made.push(...tables);
  return {
    adapters: [...made.flatMap(({ adapter }) => adapter ?? []), tablesAdapter(tables)],
    libraries: made,
    async close() {
      for (const { close } of made) await close?.();
      await closeTables();
      await pool.end();
    },
  };
}

async function withTypeOrm(url, log) {
  const columns = { id: { type: 'int', primary: true, generated: true }, name: { type: 'text' } };
  const orders = new EntitySchema({
    name: 'Order',
    target: Order,
    tableName: 'orders',
    columns: { ...columns, deletedAt: { type: 'timestamptz', deleteDate: true, nullable: true } },
  });
  const seats = new EntitySchema({
    name: 'Seat',
    target: Seat,
    tableName: 'seats',
    columns: { hall: { type: 'text', primary: true }, place: { type: 'int', primary: true }, name: { type: 'text' } },
  });
  const logger = {
    logQuery: log,
    logQueryError() {},
    logQuerySlow() {},
    logSchemaBuild() {},
    logMigration() {},
    log() {},
  };
  const source = await new DataSource({
    type: 'postgres',
    url,
    entities: [orders, seats],
    logging: ['query'],
    logger,
  }).initialize();
  const repository = source.getRepository(Order);
  return {
    name: 'TypeORM 1',
    adapter: typeorm(source),
    Class: Order,
    save: (name) => repository.save(Object.assign(new Order(), { name })),
    saveSeat: (hall, place) =>
      source.getRepository(Seat).save(Object.assign(new Seat(), { hall, place, name: 'seat' })),
    unsaved: () => Object.assign(new Order(), { name: 'unsaved' }),
    remove: ({ id }) => repository.delete(id),
    softDelete: ({ id }) => repository.softDelete(id),
    close: () => source.destroy(),
  };
}

async function withMikroOrm(url, log) {
  const name = { type: 'string' };
  const orders = new MikroSchema({
    class: MikroOrder,
    tableName: 'orders',
    properties: { id: { type: 'integer', primary: true }, name },
  });
  const seats = new MikroSchema({
    class: MikroSeat,
    tableName: 'seats',
    properties: { hall: { type: 'string', primary: true }, place: { type: 'integer', primary: true }, name },
  });
  const orm = await MikroORM.init({
    clientUrl: url,
    entities: [orders, seats],
    debug: ['query'],
    colors: false,
    logger: (line) => log(line.replace(/^\[query\] /, '')),
  });
  const save = async (Class, data) => {
    const em = orm.em.fork();
    const entity = em.create(Class, data);
    await em.persistAndFlush(entity);
    return entity;
  };
  return {
    name: 'MikroORM 6',
    adapter: mikroOrm(orm),
    Class: MikroOrder,
    manager: EntityManager,
    read: async ({ id }) => (await orm.em.fork().findOneOrFail(MikroOrder, id)).name,
    save: (value) => save(MikroOrder, { name: value }),
    saveSeat: (hall, place) => save(MikroSeat, { hall, place, name: 'seat' }),
    unsaved: () => orm.em.fork().create(MikroOrder, { name: 'unsaved' }),
    remove: ({ id }) => orm.em.fork().nativeDelete(MikroOrder, { id }),
    close: () => orm.close(),
  };
}

async function withSequelize(url, log) {
  const source = new Sequelize(url, { logging: log });
  const name = { type: DataTypes.TEXT };
  const options = { tableName: 'orders', paranoid: true, updatedAt: false, createdAt: false };
  const Orders = source.define(
    'Order',
    { id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true }, name },
    options,
  );
  const Seats = source.define(
    'Seat',
    { hall: { type: DataTypes.TEXT, primaryKey: true }, place: { type: DataTypes.INTEGER, primaryKey: true }, name },
    { tableName: 'seats', timestamps: false },
  );
  return {
    name: 'Sequelize 6',
    adapter: sequelize(source),
    Class: Orders,
    save: (value) => Orders.create({ name: value }),
    saveSeat: (hall, place) => Seats.create({ hall, place, name: 'seat' }),
    unsaved: () => Orders.build({ id: 7, name: 'unsaved' }),
    remove: (order) => order.destroy({ force: true }),
    softDelete: (order) => order.destroy(),
    close: () => source.close(),
  };
}

async function withMongoose(queries) {
  const server = await startMongoServer(queries);
  const connection = await mongooseLibrary
    .createConnection(server.url, { serverApi: { version: '1' }, autoCreate: false, autoIndex: false })
    .asPromise();
  const Orders = connection.model('Order', new mongooseLibrary.Schema({ name: String }));
  return {
    name: 'Mongoose 9',
    adapter: mongoose(connection),
    Class: Orders,
    save: (name) => new Orders({ name }).save(),
    unsaved: () => new Orders({ name: 'unsaved' }),
    remove: (order) => order.deleteOne(),
    async close() {
      await connection.close();
      server.stop();
    },
  };
}

/** Libraries whose rows have no class. */
function withRows(url, pool, queries) {
  const orders = pgTable('orders', { id: integer('id').primaryKey(), name: text('name') });
  const db = drizzle(pool, { logger: { logQuery: (query) => queries.push(query) } });
  const kysely = new Kysely({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }),
    log: ({ query }) => queries.push(query.sql),
  });
  const knex = knexOf({ client: 'pg', connection: url }).on('query', ({ sql }) => queries.push(sql));
  const many = {
    drizzle: (ids) => db.select().from(orders).where(inArray(orders.id, ids)),
    kysely: (ids) => kysely.selectFrom('orders').selectAll().where('id', 'in', ids).execute(),
    knex: (ids) => knex('orders').whereIn('id', ids),
  };
  const made = Object.entries(many).map(([name, load]) => ({
    name,
    many: load,
    async save(value) {
      const {
        rows: [row],
      } = await pool.query('INSERT INTO orders (name) VALUES ($1) RETURNING id', [value]);
      return reference(name, row.id);
    },
    remove: async (row) =>
      pool.query('DELETE FROM orders WHERE id = $1', [rows({ [name]: { many: load } }).identify(row).id]),
  }));
  return [made, () => Promise.all([kysely.destroy(), knex.destroy()])];
}

const tablesAdapter = (tables) => rows(Object.fromEntries(tables.map(({ name, many }) => [name, { many }])));
