/** The libraries' own types fit the adapters. Compiled, never run. */
import type { MikroORM } from '@mikro-orm/postgresql';
import type { Connection } from 'mongoose';
import { defineConfig } from 'onqueue';
import { mikroOrm, mongoose, reference, rows, sequelize, typeorm } from 'onqueue/entities';
import type { Sequelize } from 'sequelize';
import type { DataSource } from 'typeorm';

interface Order {
  id: number;
  total: number;
}

declare const sources: { one: DataSource; other: DataSource; orm: MikroORM; sequelize: Sequelize; mongo: Connection };
declare function findOrders(ids: number[]): Promise<Order[]>;

export default defineConfig({
  entities: [
    typeorm(sources.one),
    mikroOrm(sources.orm),
    sequelize(sources.sequelize),
    mongoose(sources.mongo),
    rows({ order: { many: (ids) => findOrders(ids) }, line: { many: findOrders, id: (row: Order) => row.id } }),
  ],
});

export const several = typeorm({ one: sources.one, other: sources.other });

export const order: Order = reference<Order>('order', 1);
