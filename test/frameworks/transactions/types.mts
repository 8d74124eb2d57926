/** What `Queue.transaction(database, fn)` gives to `fn` is typed by the library, not as unknown. Only compiled. */
import { PrismaClient } from '@prisma/client';
import { drizzle as drizzleLibsql } from 'drizzle-orm/libsql';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import knex from 'knex';
import { Kysely } from 'kysely';
import { Queue } from 'onqueue';

declare const prisma: PrismaClient;
declare const kysely: Kysely<{ orders: { id: number } }>;

const order: { id: number } | null = await Queue.transaction(prisma, async (tx) => tx.order.findFirst());
const rows: readonly { id: number }[] = await Queue.transaction(kysely, async (tx) =>
  tx.selectFrom('orders').selectAll().execute(),
);
await Queue.transaction(drizzlePg('postgres://app'), async (tx) => tx.execute('SELECT 1'));
await Queue.transaction(drizzleLibsql('file:app.sqlite'), async (tx) => tx.run('SELECT 1'));
await Queue.transaction(knex({ client: 'pg' }), async (tx) => tx.raw('SELECT 1'));
// @ts-expect-error -- a transaction of Prisma has no such model
await Queue.transaction(prisma, async (tx) => tx.invoice.findFirst());

void [order, rows];
