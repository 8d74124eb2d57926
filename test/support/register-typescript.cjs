/**
 * Lets a child process run TypeScript as the tests do: `node --require test/support/register-typescript.cjs src/cli/bin.ts`.
 *
 * Files of a project in a temporary folder may import `onqueue`; they get the sources that are under test.
 */
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');
const { transformSync } = require('@swc/core');
const options = require('./swc.cjs');

const source = join(__dirname, '../../src');

const SOURCES = {
  onqueue: join(source, 'index.ts'),
  'onqueue/testing': join(source, 'testing/index.ts'),
};

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), { ...options, filename });
  module._compile(code, filename);
};

const resolve = Module._resolveFilename;
Module._resolveFilename = (request, ...rest) => SOURCES[request] ?? resolve.call(Module, request, ...rest);

process.setSourceMapsEnabled(true);
