/** TypeScript 5.9 with `module: commonjs` and its old resolution finds the types of all entries. */
import assert from 'node:assert/strict';
import { run } from '../support/program.mjs';

await run('tsc', ['-p', '.']);
assert.equal(await run('node', ['dist/program.js']), 'hello Ada function function\n');
console.log('compiled and run under node10');
