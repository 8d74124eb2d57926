/** docs/logs.md, as it stands there: its log fields, pino and Sentry; and the alert of docs/metrics.md. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { writeFilesOf } from '../support/page.mjs';
import { Program, run } from '../support/program.mjs';

writeFilesOf('logs.md');
await run('tsc', ['-p', '.']);
const page = readFileSync('node_modules/onqueue/docs/logs.md', 'utf8');
const metrics = readFileSync('node_modules/onqueue/docs/metrics.md', 'utf8');
const config = ['--config', 'dist/onqueue.config.js'];
const jsonLines = (output) => output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));

// pino gets the lines, Sentry the failure.
await run('node', ['dist/dispatch.js']);
const required = ['--require', './dist/sentry.js', '--require', './dist/report-errors.js'];
const output = await run('onqueue', ['work', ...config, ...required, '--queue=invoices', '--stop-when-empty']);
const runs = jsonLines(output).filter(({ outcome }) => outcome !== undefined);
assert.deepEqual(
  runs.map(({ level, job, outcome, hostname }) => [level, job, outcome, typeof hostname]).toSorted(),
  [
    [30, 'MakeInvoice', 'completed', 'string'],
    [50, 'MakeInvoice', 'failed', 'string'],
  ],
  output,
);
const captured = /^captured (.*)$/m.exec(output)?.[1];
assert.ok(captured, output);
const { tags, job, values } = JSON.parse(captured);
assert.deepEqual(
  [tags, job.attempts, values.toSorted()],
  [{ job: 'MakeInvoice', queue: 'invoices' }, 1, ['13', 'no such order']],
);
console.log('pino has the lines, and Sentry the failure');

// The fields of the default log are those of the page.
writeFileSync(
  'dist/plain.config.js',
  `const { logger, ...configuration } = require('./onqueue.config').default;\nmodule.exports = configuration;`,
);
await run('node', ['dist/dispatch.js']);
const plain = await run('onqueue', [
  'work',
  '--config',
  'dist/plain.config.js',
  '--queue=invoices',
  '--stop-when-empty',
  '--log=json',
]);
const told = [...page.matchAll(/^\| (`[^|]*`) \| /gm)].flatMap(([, names]) => names.match(/\w+/g));
const lines = jsonLines(plain).filter(({ outcome }) => outcome !== undefined);
assert.equal(lines.length, 2, plain);
for (const field of new Set(lines.flatMap(Object.keys))) assert.ok(told.includes(field), `${field} is not on the page`);
for (const field of [
  'level',
  'time',
  'msg',
  'job',
  'id',
  'connection',
  'queue',
  'attempts',
  'outcome',
  'ms',
  'error',
  'err',
]) {
  assert.ok(
    lines.some((line) => field in line),
    `${field} is in no line:\n${plain}`,
  );
}
const { err } = lines.find(({ outcome }) => outcome === 'failed');
assert.deepEqual([err.type, err.message, err.cause.type], ['Error', 'no such order', 'RangeError']);
console.log('the fields of the default log are those of the page');

// Two failed jobs: fewer than a hundred are no alert, fewer than two are one.
const [, alert] = /^npx (onqueue size --json \| jq -e '.*')$/m.exec(metrics);
const piped = (line) => new Program('sh', ['-c', line.replace('size', `size ${config.join(' ')}`)]).ended;
const hasJq = (await new Program('sh', ['-c', 'command -v jq']).ended).code === 0;
if (hasJq) {
  assert.equal((await piped(alert)).code, 0);
  assert.equal((await piped(alert.replace('100', '2'))).code, 1);
  console.log('the alert tells');
} else {
  const sizes = JSON.parse(await run('onqueue', ['size', '--json', '--config', 'dist/plain.config.js']));
  assert.equal(sizes.items.find(({ queue }) => queue === 'invoices').failed, 2);
  console.log('the sizes are there; the alert was not run, as there is no jq');
}
