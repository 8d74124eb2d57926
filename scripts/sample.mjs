/**
 * Builds what is out of date and runs one sample: `npm run sample -- <name>`, and the main one by `npm start`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [name = '', ...rest] = process.argv.slice(2);

const names = readdirSync(join(root, 'samples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);
if (!names.includes(name)) {
  console.error(`There is no sample ${JSON.stringify(name)}. Run one of: ${names.join(', ')}.`);
  process.exit(2);
}

const build = spawnSync(process.execPath, [join(root, 'scripts/build.mjs'), '--samples'], { stdio: 'inherit' });
if (build.status !== 0) process.exit(1);

const program = join(root, 'build/samples', name, 'main.js');
if (!existsSync(program)) {
  console.error(`${program} was not built: samples/${name} has no main.ts.`);
  process.exit(1);
}
const sample = spawn(process.execPath, ['--enable-source-maps', program, ...rest], { stdio: 'inherit' });
// The terminal sends Ctrl+C to the sample as well, and a second signal would end it at once.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => sample.kill('SIGTERM'));
sample.on('exit', (code, signal) => {
  process.exitCode = signal ? 1 : (code ?? 1);
});
