/**
 * Lets a child process run TypeScript as the tests do: `node --require test/support/register-typescript.cjs src/cli/bin.ts`.
 *
 * Files of a project in a temporary folder may import `onqueue`; they get the sources that are under test. What these
 * compile to is kept for the processes that come after: there are hundreds of them.
 */
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');
const options = require('./swc.cjs');

const source = join(__dirname, '../../src');
const kept = join(__dirname, '../../build/compiled');
const compiler = JSON.stringify([require('@swc/core/package.json').version, options]);

const hash = (text) => createHash('sha256').update(text).digest('hex');

const SOURCES = {
  onqueue: join(source, 'index.ts'),
  'onqueue/dashboard': join(source, 'dashboard/index.ts'),
  'onqueue/testing': join(source, 'testing/index.ts'),
};

const compile = (text, filename) => require('@swc/core').transformSync(text, { ...options, filename }).code;

function compileOnce(text, filename) {
  const file = join(kept, `${hash(filename)}.js`);
  const mark = `\n// ${hash(compiler + text)}`;
  try {
    const code = readFileSync(file, 'utf8');
    if (code.endsWith(mark)) return code;
  } catch {
    mkdirSync(kept, { recursive: true });
  }
  const code = compile(text, filename);
  // In one step: another process may read it at any time.
  writeFileSync(`${file}.${process.pid}`, code + mark);
  renameSync(`${file}.${process.pid}`, file);
  return code;
}

Module._extensions['.ts'] = (module, filename) => {
  const text = readFileSync(filename, 'utf8');
  module._compile(filename.startsWith(source) ? compileOnce(text, filename) : compile(text, filename), filename);
};

const resolve = Module._resolveFilename;
Module._resolveFilename = (request, ...rest) => SOURCES[request] ?? resolve.call(Module, request, ...rest);

process.setSourceMapsEnabled(true);
