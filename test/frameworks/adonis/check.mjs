/** docs/adonisjs.md, as it stands there: its container in jobs and handlers, a request that is under way at SIGTERM, and the worker's end. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { freePort } from '../support/free-port.mjs';
import { writeFilesOf } from '../support/page.mjs';
import { eventually, Program, run } from '../support/program.mjs';

const RECEIPT = `
import { SendReceipt } from '#jobs/send_receipt';

router.post('/orders/:order', async ({ params, response }) => {
  console.log('a request is under way');
  await new Promise((resolve) => process.once('SIGTERM', () => setTimeout(resolve, 200)));
  return response.accepted({ job: await SendReceipt.dispatch(Number(params.order)) });
});
`;

writeFilesOf('adonisjs.md');
writeFileSync('start/routes.ts', readFileSync('start/routes.ts', 'utf8') + RECEIPT);
await run('tsc', ['-p', '.']);
cpSync('package.json', 'build/package.json');

const port = await freePort();
const env = { HOST: '127.0.0.1', PORT: String(port), APP_KEY: 'a key that is used nowhere else, of 32' };
const server = new Program('node', ['build/bin/server.js'], { env });
const post = (path) => fetch(`http://127.0.0.1:${port}/${path}`, { method: 'POST' });
const first = await eventually(() => post('users/ada@example.org').catch(() => undefined), 'the server listens');
assert.equal(first.status, 202);

const slow = post('orders/7');
await server.said(/a request is under way/);
server.kill();
assert.match((await (await slow).json()).job, /^[\w-]{16,}$/);
const { code, output } = await server.ended;
assert.equal(code, 0, output);
console.log('a request that was under way at SIGTERM has dispatched, and the process has ended by itself');

const worker = ['work', '--config', 'build/onqueue.config.js', '--queue=mail', '--stop-when-empty'];
const worked = await run('onqueue', worker, { env });
assert.match(worked, /to ada@example\.org: welcome/);
assert.match(worked, /to audit@example\.org: SendReceipt: order 7/);
assert.doesNotMatch(worked, /going on without it/);
console.log('onqueue work has run both with what the container of the application made, and has ended it');
