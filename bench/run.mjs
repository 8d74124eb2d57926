/**
 * Compares Onqueue with its peers: `npm run bench`, or `npm run bench -- process` for a part, `--rounds=9` for more of it,
 * `--full` for queues of a million jobs in place of 200,000.
 *
 * A scenario is run in rounds, and in each round by every peer in turn, so that a noisy minute hits all of them alike.
 * Prints a table, and writes all figures to `bench/results.json`. What is compared stands in README.md.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { complete, scenarios } from './scenarios/all.mjs';

const folder = fileURLToPath(new URL('.', import.meta.url));
const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, full: { type: 'boolean', default: false } },
  allowPositionals: true,
});

const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) refuse(`--rounds=${values.rounds}: give a whole number from 1.`);

/** `process` means `process-1`, `process-10` and `process-100`. */
const isMeant = (name, part) => name === part || name.startsWith(`${part}-`);
const names = scenarios.map(({ name }) => name);
const unknown = positionals.filter((part) => !names.some((name) => isMeant(name, part)));
if (unknown.length > 0) refuse(`There is no scenario ${unknown.join(', ')}. The scenarios are: ${names.join(', ')}.`);
const chosen = scenarios
  .filter(({ name }) => positionals.length === 0 || positionals.some((part) => isMeant(name, part)))
  .map((scenario) => complete(scenario, values.full));

if (!existsSync(join(folder, 'node_modules'))) must('npm', ['ci'], folder);
must(process.execPath, [join(folder, '../scripts/build.mjs')], folder);

// Only now: they import what was just installed.
const { startStore } = await import('./stores/all.mjs');
const { compare } = await import('./compare.mjs');
const { asTables, describeMachine } = await import('./report.mjs');

// By default a signal ends the process without its `exit` event, in which the server is stopped.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

const machine = describeMachine();
const stores = new Map();
const results = [];
try {
  for (const scenario of chosen) {
    if (!stores.has(scenario.store)) stores.set(scenario.store, await startStore(scenario.store));
    const store = stores.get(scenario.store);
    Object.assign(machine.versions, store.versions);
    const inRounds = Math.min(rounds, scenario.rounds ?? rounds);
    console.error(`${scenario.title}: ${inRounds} rounds of ${scenario.jobs} jobs`);
    results.push(await compare(scenario, inRounds, store));
  }
} finally {
  for (const store of stores.values()) await store.stop();
  // Also when a later scenario has failed.
  writeFileSync(join(folder, 'results.json'), `${JSON.stringify({ ...machine, results }, undefined, 2)}\n`);
  console.log(asTables(machine, chosen, results));
}

function must(command, parameters, cwd) {
  const { status } = spawnSync(command, parameters, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) process.exit(1);
}

function refuse(problem) {
  console.error(problem);
  process.exit(2);
}
