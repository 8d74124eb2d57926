/** tsx, swc and esbuild: a program whose jobs are loaded twice, one bundle, and names that a minifier gave. */
import assert from 'node:assert/strict';
import { run } from '../support/program.mjs';

const WORKED = /hello Ada[\s\S]*^empty/m;

// tsx evaluates the program as ES modules, and what the configuration imports as CommonJS: the job is there twice.
assert.match(await run('tsx', ['src/program.ts']), WORKED);
console.log('tsx has run a program of ES modules whose configuration imports the same jobs');

// The worker loads it by swc, with the paths of tsconfig.json.
assert.match(await run('onqueue', ['classes']), /^Greet +greetings/m);
console.log('swc has loaded the configuration by paths');

const ESBUILD = ['--bundle', '--platform=node', '--minify'];
for (const [kind, more] of [
  ['onqueue left out', ['--packages=external', '--outfile=dist/left-out.cjs']],
  // Drivers that are not used are not installed, and nobody says so to esbuild.
  ['onqueue inside', ['--external:@swc/core', '--external:libsql', '--outfile=dist/inside.cjs']],
]) {
  await run('esbuild', ['src/bundled.ts', ...ESBUILD, ...more]);
  assert.match(await run('node', [more.at(-1).replace('--outfile=', '')]), WORKED, kind);
  console.log(`esbuild has made one minified bundle, ${kind}`);
}

await run('esbuild', ['src/nameless.ts', ...ESBUILD, '--packages=external', '--outfile=dist/nameless.cjs']);
const production = await run('node', ['dist/nameless.cjs'], { env: { NODE_ENV: 'production' } }).catch(String);
assert.match(production, /a name that a minifier seems to have made/, production);
assert.doesNotMatch(production, /^queued/m);
console.log('a job under a name that a minifier gave is refused in production');
