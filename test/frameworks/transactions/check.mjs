/**
 * Each line of the table "In the transactions of a library" in docs/transactions.md, as it stands there, on PostgreSQL: the
 * job is there exactly when what else the transaction wrote is. And `Queue.transaction(database, fn)` with each library whose
 * transaction it opens, on PostgreSQL and SQLite.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { run } from '../support/program.mjs';
import { received, SendInvoice } from './send-invoice.mjs';

const { Queue, Worker } = createRequire(import.meta.url)('onqueue');
const url = process.env.DATABASE_URL;
const AsyncFunction = (async () => undefined).constructor;

/** What a placeholder, an escape or an encoding could be taken for. */
const NOTE = `it's "so": ? ?? \\? $1 $2 $$ :name @p %s {} \\ \\u0000 ½ 🎉 \n`;

function lines() {
  const page = readFileSync('node_modules/onqueue/docs/transactions.md', 'utf8');
  const table = page.slice(page.indexOf('### In the transaction of a library'));
  return [
    ...table.slice(0, table.indexOf('\n\n', table.indexOf('|---'))).matchAll(/^\| (\w[^|]*) \| `([^|]+)` \|/gm),
  ].map(([, library, code]) => ({ library, code }));
}

await run('onqueue', ['migrate']);
// The engine for schemas, which it would fetch, is not needed to make a client.
for (const schema of ['schema', 'sqlite'])
  await run('prisma', ['generate', '--schema', `prisma/${schema}.prisma`], {
    env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath },
  });
await run('tsc', ['-p', '.']);
const { libraries, onSqlite } = await import('./libraries.mjs');

const opened = await libraries(url);
const { database } = opened;
await database.query('CREATE TABLE orders (id integer PRIMARY KEY)');
const counted = async () => [
  Number((await database.query('SELECT count(*) FROM orders')).rows[0].count),
  await Queue.size(),
];

const found = lines();
assert.deepEqual(found.map(({ library }) => library).toSorted(), Object.keys(opened.ways).toSorted());

let order = 0;
for (const { library, code } of found) {
  const { scope, write, outside } = opened.ways[library];
  const attempt = async (line) => {
    order += 1;
    const names = { SendInvoice, order, note: NOTE, write: (transaction) => write(transaction, order), ...scope };
    await new AsyncFunction(...Object.keys(names), line)(...Object.values(names));
  };
  const filled = code
    .replace('…;', code.includes('(tx) =>') ? 'await write(tx);' : 'await write(transaction);')
    .replace('dispatch(7)', 'dispatch(order, note)');

  await attempt(filled);
  assert.deepEqual(await counted(), [1, 1], `${library}: committed`);
  await new Worker({ stopWhenEmpty: true }).run();
  assert.deepEqual(received.splice(0), [[order, NOTE]], `${library}: what the job carried`);

  const rolledBack = filled.replace(/(\.using\(tx\);)/, "$1 throw new Error('changed my mind');");
  await assert.rejects(attempt(rolledBack), /changed my mind/, library);
  assert.deepEqual(await counted(), [1, 0], `${library}: rolled back`);

  for (const given of outside) {
    await assert.rejects(
      async () => SendInvoice.dispatch(order, NOTE).using(given),
      { code: 'E_UNKNOWN_TRANSACTION' },
      library,
    );
  }
  assert.deepEqual(await counted(), [1, 0], `${library}: outside of a transaction`);
  await database.query('DELETE FROM orders');
  console.log(`${library}: committed, rolled back, refused outside`);
}

const sqlite = await onSqlite('orders.sqlite');
const databases = {
  'Prisma on PostgreSQL': { ...opened.ways['Prisma 7'], given: opened.ways['Prisma 7'].scope.prisma },
  'Drizzle over pg': {
    ...opened.ways['Drizzle (node-postgres)'],
    given: opened.ways['Drizzle (node-postgres)'].scope.db,
  },
  'Drizzle over postgres.js': {
    ...opened.ways['Drizzle (postgres-js)'],
    given: opened.ways['Drizzle (postgres-js)'].scope.db,
  },
  'kysely on PostgreSQL': { ...opened.ways.kysely, given: opened.ways.kysely.scope.kysely },
  'knex on PostgreSQL': { ...opened.ways.knex, given: opened.ways.knex.scope.knex },
  ...sqlite.databases,
};
for (const [library, { given, write, count = async () => (await counted())[0] }] of Object.entries(databases)) {
  const dispatched = (end = () => 'done') =>
    Queue.transaction(given, async (tx) => {
      order += 1;
      await SendInvoice.dispatch(order, NOTE).afterCommit();
      await write(tx, order);
      assert.equal(await Queue.size(), 0, `${library}: sent before the commit`);
      return end();
    });
  const changed = () => {
    throw new Error('changed my mind');
  };
  await assert.rejects(dispatched(changed), /changed my mind/, library);
  assert.deepEqual([await count(), await Queue.size()], [0, 0], `${library}: rolled back`);

  assert.equal(await dispatched(), 'done');
  assert.deepEqual([await count(), await Queue.size()], [1, 1], `${library}: committed`);
  await new Worker({ stopWhenEmpty: true }).run();
  assert.deepEqual(received.splice(0), [[order, NOTE]], library);
  if (!(library in sqlite.databases)) await database.query('DELETE FROM orders');
  console.log(`${library}: Queue.transaction() opened, committed and rolled back`);
}

for (const given of sqlite.synchronous)
  await assert.rejects(
    Queue.transaction(given, async () => assert.fail('it was called')),
    { code: 'E_UNKNOWN_DATABASE' },
  );
const [synchronous] = sqlite.synchronous;
for (const end of [() => 'done', () => assert.fail('changed my mind')]) {
  const written = Queue.transaction(() =>
    synchronous.transaction((tx) => {
      order += 1;
      void SendInvoice.dispatch(order, NOTE).afterCommit();
      sqlite.writeAtOnce(tx, order);
      return end();
    }),
  );
  await written.catch((error) => assert.match(error.message, /changed my mind/));
  assert.deepEqual([await sqlite.countAtOnce(), await Queue.size()], [1, 1], 'Drizzle, synchronous');
}
console.log(
  'Drizzle over a library that waits for nothing: refused, and kept by Queue.transaction() around its transaction',
);

await Queue.close();
await opened.close();
await sqlite.close();
