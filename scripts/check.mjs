/**
 * Runs the quick checks, two at a time, and prints what failed: `npm run check`, or `npm run check -- lint types`.
 *
 * The checks are the `check:…` scripts of package.json; CONTRIBUTING.md says what each is for. `--report <file>` writes the
 * counts to a file, for `scripts/ci.mjs`.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { values, positionals } = parseArgs({ options: { report: { type: 'string' } }, allowPositionals: true });

/** Runs only by itself, because it installs for minutes: `npm run check:frameworks`. */
const APART = 'check:frameworks';

const all = Object.keys(scripts)
  .filter((script) => script.startsWith('check:') && script !== APART)
  .map((script) => script.slice('check:'.length));
const unknown = positionals.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`There is no check ${unknown.join(', ')}. The checks are: ${all.join(', ')}.`);
  process.exit(2);
}

/** Far longer than any check takes: a check that hangs must not hang the machine that runs it. */
const DEADLINE_MS = 20 * 60_000;

function run(name) {
  return new Promise((resolve) => {
    const started = Date.now();
    const env = { ...process.env, PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH}` };
    const child = spawn(scripts[`check:${name}`], { cwd: root, env, shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.on('close', (code, signal) => {
      clearTimeout(deadline);
      const passed = code === 0;
      const seconds = ((Date.now() - started) / 1000).toFixed(1);
      console.log(`${passed ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)${signal ? `, killed by ${signal}` : ''}`);
      if (!passed) console.log(output.trimEnd());
      resolve(passed);
    });
  });
}

const waiting = positionals.length > 0 ? positionals : all;
const counts = { passed: 0, failed: 0 };
async function runOneAfterAnother() {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    counts[(await run(name)) ? 'passed' : 'failed'] += 1;
  }
}
// First and alone, because others read its output.
if (waiting[0] === 'build') counts[(await run(waiting.shift())) ? 'passed' : 'failed'] += 1;
await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, runOneAfterAnother));

if (values.report !== undefined) writeFileSync(values.report, JSON.stringify(counts));
process.exitCode = counts.failed > 0 ? 1 : 0;
