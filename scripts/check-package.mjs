/**
 * Packs the package as it would be published and checks it as its users see it: publint for bundlers and Node.js,
 * are-the-types-wrong for TypeScript, and this script for its contents.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'onqueue-package-'));

/** Far more than we ship, and less than with a folder that slipped in. */
const MOST_BYTES = 6 * 1024 * 1024;
const allowed =
  /^(dist\/|lua\/.+\.(lua|md)$|completions\/onqueue\.\w+$|docs\/.+\.md$|samples\/.+\.(ts|csv)$|package\.json$|README\.md$|CHANGELOG\.md$|LICENSE$)/;
const needed = [
  'package.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  'dist/index.js',
  'dist/index.d.ts',
  'dist/cli/bin.js',
  // Error messages refer to these.
  'docs/errors.md',
  'docs/format.md',
  // The documentation links to it.
  'samples/own-driver/main.ts',
];

// A subpath needs its line in `exports`, and another in `typesVersions` for the older resolution of TypeScript.
const { exports: entries, typesVersions } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
for (const [subpath, entry] of Object.entries(entries).filter(([, entry]) => typeof entry === 'object')) {
  needed.push(...Object.values(entry).map((path) => path.slice('./'.length)));
  const older = typesVersions['*'][subpath.slice('./'.length)];
  if (subpath === '.' || older?.[0] === entry.types) continue;
  console.error(`typesVersions of package.json has no ${subpath} with ${entry.types}`);
  process.exitCode = 1;
}

function run(command, ...args) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8', timeout: 120_000 });
  if (status === 0) return stdout;
  console.error(`${command} ${args.join(' ')}\n${stdout}${stderr}`);
  process.exitCode = 1;
  return undefined;
}

function checkContents({ files, unpackedSize }) {
  const paths = files.map((file) => file.path);
  const problems = [
    ...paths.filter((path) => !allowed.test(path)).map((path) => `${path} does not belong into the package`),
    ...needed.filter((path) => !paths.includes(path)).map((path) => `${path} is missing from the package`),
    ...(paths.some((path) => path.endsWith('.lua')) ? [] : ['no script of lua/ is in the package']),
    ...(paths.some((path) => path.endsWith('.bash')) ? [] : ['no script of completions/ is in the package']),
    ...(unpackedSize > MOST_BYTES ? [`the package has ${unpackedSize} bytes, more than ${MOST_BYTES}`] : []),
  ];
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}

try {
  // Built separately, because npm would print the output of a script between its JSON.
  const built = run(process.execPath, 'scripts/build.mjs');
  const packed =
    built === undefined ? undefined : run('npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', folder);
  if (packed !== undefined) {
    const [summary] = JSON.parse(packed);
    const tarball = join(folder, summary.filename);
    checkContents(summary);
    run('publint', 'run', '--strict', tarball);
    run('attw', tarball);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
