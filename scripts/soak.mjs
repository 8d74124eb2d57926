/**
 * Breaks things for minutes, and prints what was measured: `npm run soak`, or `npm run soak -- kill-9` for a part.
 *
 * `--store=redis` or `--store=sqlite` for one store, `--full` for the sizes of a release, `--minutes=60` for the length of
 * the mixed work, `--json <file>` to write the results to a file as well. The soaks are in test/faults/soaks, and
 * docs/reliability.md says what they prove. A shorter form of each also runs among the tests.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
const { values, positionals } = parseArgs({
  options: {
    store: { type: 'string' },
    full: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    json: { type: 'string' },
  },
  allowPositionals: true,
});

// Worker processes run the build output.
if (spawnSync(process.execPath, [`${root}scripts/build.mjs`], { stdio: 'inherit' }).status !== 0) process.exit(1);
require('../test/support/register-typescript.cjs');
const { soaks } = require('../test/faults/soaks/all.ts');

const names = soaks.map(({ name }) => name);
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) refuse(`There is no soak ${unknown.join(', ')}. The soaks are: ${names.join(', ')}.`);
const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
if (minutes !== undefined && !(minutes > 0)) refuse(`--minutes=${values.minutes}: give a number above 0.`);

const results = [];
console.log('| soak | store | to be reached | reached | took |\n|---|---|---|---|--:|');
for (const soak of soaks.filter(({ name }) => positionals.length === 0 || positionals.includes(name))) {
  for (const store of soak.stores.filter((name) => values.store === undefined || name === values.store)) {
    results.push(await play(soak, store));
  }
}
if (results.length === 0)
  refuse(
    `No soak runs on the store '${values.store}'. There are redis, cluster, sqlite, postgres, mysql and beanstalkd.`,
  );
if (values.json !== undefined) {
  const machine = { date: new Date().toISOString(), cpu: cpus()[0].model.trim(), cores: availableParallelism() };
  writeFileSync(values.json, `${JSON.stringify({ ...machine, node: process.version, results }, undefined, 2)}\n`);
}
process.exitCode = results.every(({ offences }) => offences.length === 0) ? 0 : 1;

async function play({ name, title, figure, sizes, play }, store) {
  const size = { ...sizes[values.full ? 'full' : 'soak'] };
  if (minutes !== undefined && 'minutes' in size) size.minutes = minutes;
  const loadBefore = loadavg()[0];
  const begun = Date.now();
  const found = await play(store, size).catch((error) => ({
    reached: 'it broke off',
    offences: [error.stack ?? String(error)],
  }));
  const { reached } = found;
  const offences = [...found.offences, ...(found.late ?? [])];
  const seconds = Math.round((Date.now() - begun) / 1000);
  const verdict = offences.length === 0 ? reached : `**not reached**: ${reached}`;
  console.log(`| ${title} | ${store} | ${figure} | ${verdict} | ${seconds} s |`);
  for (const offence of offences) console.error(`  ${name} on ${store}: ${offence}`);
  return { name, store, size, figure, reached, offences, seconds, loadBefore };
}

function refuse(problem) {
  console.error(problem);
  process.exit(2);
}
