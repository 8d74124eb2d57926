/**
 * The program of docs/dispatching.md on Express, as it stands there, in the project of docs/getting-started.md; with a request that is under way at SIGTERM.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { freePort } from '../support/free-port.mjs';
import { writeFilesOf } from '../support/page.mjs';
import { eventually, Program, run } from '../support/program.mjs';

/** Holds one request from before the signal until well after it. */
const SLOW = `const app = express();
app.use((request, _response, next) => {
  if (request.headers['x-slow'] === undefined) return next();
  console.log('a request is under way');
  process.once('SIGTERM', () => setTimeout(next, 200));
});`;

writeFilesOf('getting-started.md', 'In TypeScript');
writeFilesOf('dispatching.md');
const source = readFileSync('src/server.ts', 'utf8');
assert.ok(source.includes('const app = express();'));
writeFileSync('src/slow.ts', source.replace('const app = express();', SLOW));
await run('tsc', ['-p', '.']);

const port = await freePort();
const server = new Program('node', ['dist/src/slow.js'], { env: { PORT: String(port) } });
const post = (order, headers = {}) =>
  fetch(`http://127.0.0.1:${port}/orders/${order}/invoice`, { method: 'POST', headers });
const first = await eventually(() => post(1).catch(() => undefined), 'the server listens');
assert.equal(first.status, 202);

const { job } = await first.json();
const asked = await fetch(`http://127.0.0.1:${port}/jobs/${job}`);
assert.deepEqual([asked.status, await asked.json()], [200, { id: job, state: 'ready', attempts: 0 }]);
assert.equal((await fetch(`http://127.0.0.1:${port}/jobs/none`)).status, 404);
console.log('the id of a dispatch tells how its job is');

const slow = post(2, { 'x-slow': 'yes' });
await server.said(/a request is under way/);
server.kill();
const answer = await slow;
assert.equal(answer.status, 202);
assert.match((await answer.json()).job, /^[\w-]{16,}$/);
const { code, output } = await server.ended;
assert.equal(code, 0, output);
console.log('a request that was under way at SIGTERM has dispatched, and the process has ended by itself');

const worked = await run('onqueue', [
  'work',
  '--config',
  'dist/onqueue.config.js',
  '--queue=invoices',
  '--stop-when-empty',
]);
assert.match(worked, /the invoice of order 1[\s\S]*the invoice of order 2/);
console.log('onqueue work has run both');
