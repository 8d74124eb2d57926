/**
 * The first example of docs/testing.md, as it stands there, in the project of docs/getting-started.md, and modules that are
 * evaluated anew, under Jest and Vitest.
 */
import assert from 'node:assert/strict';
import { writeFilesOf } from '../support/page.mjs';
import { run } from '../support/program.mjs';

writeFilesOf('getting-started.md', 'In TypeScript');
writeFilesOf('testing.md');
await run('tsc', ['-p', 'tsconfig.tests.json']);
assert.match(await run('jest', ['--ci']), /Tests: +2 passed, 2 total/);
console.log('Jest has run the example, and jest.resetModules()');
assert.match(await run('vitest', ['run', '--no-color']), /Tests +2 passed \(2\)/);
console.log('Vitest has run the example, and vi.resetModules()');
