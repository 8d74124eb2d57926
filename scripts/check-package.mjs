/**
 * Packs the package as it would be published and looks at it with the eyes of its users: publint reads what a bundler
 * and Node.js make of its `package.json`, are-the-types-wrong what TypeScript makes of it, and this file what is inside.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'onqueue-package-'));

/** Far above what we ship; a folder that slipped in goes over it. */
const MOST_BYTES = 5 * 1024 * 1024;
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
  // Messages point to these.
  'docs/errors.md',
  'docs/format.md',
  // The pages link to them.
  'samples/own-driver/main.ts',
];

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
  // Built first and by itself: what npm prints of a script would stand in the way of its JSON.
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
