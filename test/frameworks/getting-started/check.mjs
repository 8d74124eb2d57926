/**
 * docs/getting-started.md, followed to the letter: each file is written, each line is run, in order, and what the page says
 * that it prints is compared. What a line installs is there already, in the versions of the lock file.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Program } from '../support/program.mjs';

const page = readFileSync('node_modules/onqueue/docs/getting-started.md', 'utf8');
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const BLOCK = /^```(\w+)([^\n]*)\n([\s\S]*?)^```$/gm;
const env = { REDIS_URL: undefined };

const sections = page.split(/^## /m).slice(1);
assert.equal(sections.length, 3);
for (const [number, section] of sections.entries()) {
  const folder = resolve(`shop-${number}`);
  mkdirSync(folder);
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const blocks = [...section.matchAll(BLOCK)].map(([, language, words, code]) => ({ language, words, code }));
  for (const [place, { language, code }] of blocks.entries()) {
    if (language === 'sh') {
      const next = blocks[place + 1];
      const expected = next?.words.trim() === 'output' ? next.code : undefined;
      let printed = '';
      for (const line of code.trim().split('\n')) printed += await followed(line, folder, expected);
      if (expected !== undefined) assert.match(printed, patternOf(expected));
    } else if (/^\/\/ \S+$/m.test(code.split('\n')[0])) {
      const [head, ...rest] = code.split('\n');
      const file = join(folder, head.slice(3));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, rest.join('\n'));
    }
  }
  console.log(`followed: ${section.slice(0, section.indexOf('\n'))}`);
}

/** What it printed; a worker that ends by Ctrl-C alone is told to when it has printed what is expected. */
async function followed(line, cwd, expected) {
  const [, packages] = /^npm install (?:--save-dev )?(.*)$/.exec(line) ?? [];
  if (packages !== undefined) {
    for (const name of packages.split(' ')) assert.ok(name in dependencies, `${name} is not installed`);
    return '';
  }
  if (line.startsWith('mkdir ')) return '';
  const program = new Program('sh', ['-c', `exec ${line}`], { cwd, env });
  const endsByItself = !line.startsWith('npx onqueue work') || line.includes('--stop-when-empty');
  if (!endsByItself) {
    await program.said(patternOf(expected));
    program.interrupt();
  }
  const { code, output } = await program.ended;
  if (endsByItself) assert.equal(code, 0, `${line}:\n${output}`);
  return output;
}

/** `…` on a line of its own stands for any lines. */
function patternOf(text) {
  const escaped = text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(/^…\n/gm, '(?:.*\\n)*?');
  return new RegExp(`^${escaped}`, 'm');
}
