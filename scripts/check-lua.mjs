/**
 * Checks that the headers of the Lua scripts match the scripts, and both the rest of the project.
 *
 * If a header declares a slot that the body never reads, or an answer that TypeScript does not know, a script and its caller
 * may drift apart without a failing test.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const problems = [];

const tests = readTree(join(root, 'test/lua'), '.test.ts');
const names = readdirSync(join(root, 'lua'))
  .filter((file) => file.endsWith('.lua'))
  .map((file) => file.slice(0, -'.lua'.length));

/** The answers of each script that `src/connections/redis/scripts.ts` knows. */
const answersKnown = new Map(
  [...read('src/connections/redis/scripts.ts').matchAll(/^ {2}'?([\w-]+)'?: \[('[^\]]+)\],$/gm)].map(
    ([, name, words]) => [name, words.match(/\w+/g)],
  ),
);
const known = [...answersKnown.keys()];
const invariants = new Set(read('lua/README.md').match(/\bI\d+\b/g));

const parts = readdirSync(join(root, 'lua/parts')).map((file) => file.slice(0, -'.lua'.length));
const used = new Set(['base']);

for (const name of names) check(name);
for (const name of parts) checkPart(name);

for (const name of known.filter((one) => !names.includes(one))) report(name, 'is in scripts.ts, but not in lua/');
for (const name of names.filter((one) => !known.includes(one))) report(name, 'is in lua/, but not in scripts.ts');

if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
console.log(`${names.length} scripts agree with their headers, their callers and their tests`);

function check(name) {
  const source = read(`lua/${name}.lua`);
  const lines = source.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--'));
  const header = lines.slice(0, end).join('\n');
  const body = lines.slice(end).filter((line) => !line.trim().startsWith('--'));
  const complain = (problem) => report(name, problem);

  if (!header.startsWith(`-- ${name}.lua: `))
    complain(`its header does not begin with "-- ${name}.lua: " and what it does`);
  for (const word of ['returns', 'keeps', 'cost']) {
    if (!new RegExp(`^--   ${word} `, 'm').test(header)) complain(`its header says nothing of "${word}"`);
  }
  if (body.length > 0 && lines.some((line) => line.length > 120)) complain('it has a line of more than 120 characters');

  const texts = { parts: source, need: '' };
  for (const [, word, list] of header.matchAll(/^-- {3}(parts|need) +(.*)$/gm)) {
    for (const part of list.split(' ')) {
      used.add(part);
      if (parts.includes(part)) texts[word] += read(`lua/parts/${part}.lua`);
      else complain(`it names the part ${part}, which lua/parts does not have`);
    }
  }
  for (const [, called] of (texts.parts + texts.need + body.join('\n')).matchAll(/\bneed\('(\w+)'\)/g)) {
    if (!texts.need.includes(`\nlocal function ${called}(`))
      complain(`it needs ${called}, which no part under "need" has`);
  }
  checkSlots(header, body, complain);
  for (const invariant of /keeps {4}(.*)/.exec(header)?.[1].match(/\bI\d+\b/g) ?? []) {
    if (!invariants.has(invariant)) complain(`it keeps ${invariant}, which lua/README.md does not have`);
  }
  for (const word of answers(header)) {
    if (!body.join('\n').includes(`'${word}'`) && word !== 'stale') complain(`it never answers '${word}'`);
    if (word !== 'stale' && !answersKnown.get(name)?.includes(word)) {
      complain(`its answer '${word}' is not one that src/connections/redis/scripts.ts knows`);
    }
  }
  for (const [, word] of body.join('\n').matchAll(/(?:return|record\([\w, ]+,) \{ '(\w+)'/g)) {
    if (!answers(header).includes(word)) complain(`it answers '${word}', which its header does not say`);
  }
  if (!new RegExp(`['\`]${name}['\`]|lock-\\$\\{`).test(tests)) complain('no test in test/lua runs it');
}

/** A part must say what it is for, and be used by a script. */
function checkPart(name) {
  const lines = read(`lua/parts/${name}.lua`).split('\n');
  if (!lines[0].startsWith(`-- ${name}.lua: `)) report(`parts/${name}`, 'its first line does not say what it is for');
  if (lines.some((line) => line.length > 120)) report(`parts/${name}`, 'it has a line of more than 120 characters');
  if (!used.has(name)) report(`parts/${name}`, 'no script names it');
}

/** Each slot must be declared, bound to its name in the first lines, and not mentioned again. */
function checkSlots(header, body, complain) {
  const declared = [...header.matchAll(/^-- {3}(KEYS|ARGV)\[([^\]]+)\] (\w+)/gm)].map(([, table, slot, name]) => ({
    slot: `${table}[${slot}]`,
    name,
    single: /^\d+$/.test(slot),
  }));
  const binding = body.filter((line) => /^local .*\b(KEYS|ARGV)\[\d+\]/.test(line));
  const bound = new Map(binding.flatMap(pairs));
  for (const { slot, name, single } of declared) {
    // parts/base.lua reads the offset. Groups are bound to their names in a loop.
    if (slot === 'ARGV[1]') {
      if (name !== 'offset') complain('ARGV[1] is the offset of the clock in every script');
    } else if (single && bound.get(slot) !== name) {
      complain(`${slot} is declared as ${name}, and bound to ${bound.get(slot) ?? 'nothing'}`);
    } else if (!single && slot.startsWith('KEYS') && !body.some((line) => new RegExp(`\\b${name}\\b`).test(line))) {
      complain(`${slot} ${name} is declared, and never read`);
    }
    if (name !== 'offset' && single && uses(body, name) < 2) complain(`${slot} ${name} is bound, and never read`);
  }
  for (const slot of bound.keys()) {
    if (!declared.some((one) => one.slot === slot)) complain(`${slot} is read, and not declared`);
  }
  const elsewhere = body.filter((line) => !binding.includes(line) && /\b(KEYS|ARGV)\[\d+\]/.test(line));
  if (elsewhere.length > 0) complain(`a slot is named outside the first lines: ${elsewhere[0].trim()}`);
}

/** `local a, b = KEYS[1], tonumber(ARGV[2])` → ['KEYS[1]', 'a'], ['ARGV[2]', 'b']. */
function pairs(line) {
  const [, left, right] = /^local ([\w, ]+) = (.*)$/.exec(line) ?? [];
  const locals = left?.split(', ') ?? [];
  const slots = right?.match(/\b(KEYS|ARGV)\[\d+\]/g) ?? [];
  return slots.map((slot, at) => [slot, locals[at]]);
}

function uses(body, name) {
  return body.join('\n').match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0;
}

/** The words before the first comma of each answer: `{'pushed', …} | {'stale'}`. */
function answers(header) {
  const [, returns] = /--   returns ([\s\S]*?)--   keeps/.exec(header) ?? [];
  return [...(returns ?? '').matchAll(/\{'(\w+)'/g)].map(([, word]) => word);
}

function report(name, problem) {
  problems.push(`lua/${name}.lua: ${problem}`);
}

function read(path) {
  return readFileSync(join(root, path), 'utf8');
}

function readTree(folder, ending) {
  return readdirSync(folder)
    .filter((file) => file.endsWith(ending))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
}
