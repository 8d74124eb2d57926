/**
 * Compiles `src` into `dist`, and with `--samples` also `samples` into `build/samples`.
 *
 * Builds only what is out of date, because `npm test`, `npm start` and `npm pack` all build. A hash of all inputs decides,
 * not file times, which a checkout changes. `--check` builds nothing and fails if something is out of date: for tests of
 * the build output, which run side by side.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const compiler = join(root, 'node_modules/typescript/bin/tsc');

const targets = {
  dist: {
    output: 'dist',
    project: 'tsconfig.json',
    inputs: ['src', 'lua', 'tsconfig.json', 'package-lock.json', 'scripts/build.mjs'],
    finish: finishPackage,
  },
  samples: {
    output: 'build/samples',
    project: 'samples/tsconfig.json',
    inputs: ['samples', 'src', 'tsconfig.json', 'package-lock.json', 'scripts/build.mjs'],
    finish: copySampleData,
  },
};

/** Makes the command executable, and embeds the texts that are read at run time, so that a user's bundler includes them. */
function finishPackage(output) {
  const command = join(output, 'cli/bin.js');
  if (existsSync(command)) chmodSync(command, 0o755);
  embed(join(output, 'connections/redis/script-text.js'), 'scriptText', textsBelow('lua', '.lua'));
  embed(join(output, 'dashboard/asset-text.js'), 'assetText', textsBelow('src/dashboard/assets', ''));
}

/** Replaces a module that reads files with one that contains them: bundlers include modules, but no folders. */
function embed(module, name, texts) {
  const lines = [
    '"use strict";',
    '/** Texts of files, put here by the build. */',
    'Object.defineProperty(exports, "__esModule", { value: true });',
    `exports.${name} = (name) => texts[name];`,
    `const texts = ${JSON.stringify(texts, undefined, 2)};`,
    '',
  ];
  writeFileSync(module, lines.join('\n'));
}

/** The texts of a folder's files, by their names without `ending`. */
function textsBelow(folder, ending) {
  return Object.fromEntries(
    filesBelow(folder)
      .filter((file) => file.endsWith(ending))
      .map((file) => {
        const name = relative(folder, file).split(sep).join('/');
        return [name.slice(0, name.length - ending.length), readFileSync(join(root, file), 'utf8')];
      }),
  );
}

/** Copies the files that the compiler leaves out. */
function copySampleData(output) {
  for (const file of filesBelow('samples')) {
    if (/\.(ts|json|md)$/.test(file)) continue;
    writeFileSync(join(output, relative('samples', file)), readFileSync(join(root, file)));
  }
}

function filesBelow(path) {
  const absolute = join(root, path);
  if (!existsSync(absolute)) return [];
  if (statSync(absolute).isFile()) return [path];
  return readdirSync(absolute, { recursive: true })
    .map((name) => join(path, name))
    .filter((name) => statSync(join(root, name)).isFile())
    .toSorted();
}

function fingerprint(inputs) {
  const hash = createHash('sha256');
  for (const file of inputs.flatMap(filesBelow)) {
    hash
      .update(`${file.split(sep).join('/')}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

/** Outside the output folder, which is packed as it is. */
const stampOf = (name) => join(root, 'build', `${name}.sha256`);

function isUpToDate(name, current) {
  const output = join(root, targets[name].output);
  return existsSync(output) && existsSync(stampOf(name)) && readFileSync(stampOf(name), 'utf8') === current;
}

function build(name) {
  const { inputs, output: folder, project, finish } = targets[name];
  const current = fingerprint(inputs);
  if (isUpToDate(name, current)) return;
  if (process.argv.includes('--check')) {
    console.error(`build: ${folder} is out of date. Run \`npm run build\` (\`-- --samples\` for samples).`);
    process.exit(1);
  }

  const output = join(root, folder);
  rmSync(stampOf(name), { force: true });
  // A file that was removed from the sources must not live on in the package.
  rmSync(output, { recursive: true, force: true });
  const compiled = spawnSync(process.execPath, [compiler, '-p', project, '--noEmitOnError'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (compiled.status !== 0) {
    console.error(`build: ${project} does not compile; ${folder} was not built.`);
    process.exit(1);
  }
  finish(output);
  mkdirSync(join(root, 'build'), { recursive: true });
  writeFileSync(stampOf(name), current);
  console.log(`build: ${folder} is built.`);
}

if (!existsSync(compiler)) {
  console.error('build: the compiler is not installed. Run `npm ci` first.');
  process.exit(1);
}
build('dist');
if (process.argv.includes('--samples')) build('samples');
