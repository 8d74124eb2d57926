/** docs/nextjs.md, as it stands there: built, served, worked, and changed under `next dev`. */
import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { freePort } from '../support/free-port.mjs';
import { writeFilesOf } from '../support/page.mjs';
import { eventually, Program, run } from '../support/program.mjs';

process.env.NEXT_TELEMETRY_DISABLED = '1';
const files = writeFilesOf('nextjs.md');
await run('next', ['build']);
console.log(`built: ${files.join(', ')}`);

async function served(...args) {
  const port = await freePort();
  const server = new Program('next', [...args, '--port', String(port), '--hostname', '127.0.0.1']);
  await server.said(/Ready in/);
  const invoice = async (order) => {
    const answer = await fetch(`http://127.0.0.1:${port}/orders/${order}/invoice`, { method: 'POST' });
    assert.equal(answer.status, 202, `${await answer.clone().text()}\n${server.output}`);
    return (await answer.json()).job;
  };
  return { server, invoice };
}

async function worked(...more) {
  return run('onqueue', ['work', '--queue=invoices', '--stop-when-empty', ...more]);
}

// As in production, with names that the build has shortened.
const production = await served('start');
const id = await production.invoice('7');
assert.match(id, /^[\w-]{16,}$/);
production.server.kill();
await production.server.ended;
const output = await worked();
assert.match(output, /printed the invoice of order 7/);
assert.match(output, /MakeInvoice/);
console.log('a route of the build has dispatched, and onqueue work has run it from TypeScript with paths');

// The same, compiled: nothing is left that compiles TypeScript.
const again = await served('start');
await again.invoice('9');
again.server.kill();
await again.server.ended;
const command = readFileSync('node_modules/onqueue/docs/nextjs.md', 'utf8').match(/^npx (esbuild .*)$/m)[1];
await run('esbuild', command.split(' ').slice(1));
renameSync('node_modules/@swc', 'node_modules/absent');
assert.match(await worked('--config', 'dist/onqueue.config.js'), /printed the invoice of order 9/);
renameSync('node_modules/absent', 'node_modules/@swc');
console.log('onqueue work has run what esbuild made of the configuration');

// Under `next dev`: a change is taken over, however often.
const development = await served('dev');
await development.invoice('8');
const job = 'src/jobs/make-invoice.ts';
for (const queue of ['second', 'third']) {
  writeFileSync(job, readFileSync(job, 'utf8').replace(/queue: '\w+'/, `queue: '${queue}'`));
  await eventually(async () => {
    await development.invoice(queue);
    return (await waitingOn(queue)) > 0;
  }, `the route dispatches to the queue ${queue}`);
}
assert.doesNotMatch(development.server.output, /E_DUPLICATE_JOB|E_ALREADY_CONFIGURED/);
development.server.kill();
await development.server.ended;
console.log('next dev has taken over a changed job, twice');

async function waitingOn(queue) {
  const printed = await run('onqueue', ['size', '--json']);
  return JSON.parse(printed).find((size) => size.queue === queue)?.ready ?? 0;
}
