/** What `onqueue init` and `make:job` write, run as their user would run it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(__dirname, '../..');
const { JEST_WORKER_ID: _worker, NODE_ENV: _mode, REDIS_URL: _redis, ...env } = process.env;

let folder: string;

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A project with onqueue and the packages that TypeScript needs. */
function given(manifest: object): void {
  folder = mkdtempSync(join(tmpdir(), 'onqueue-init-'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/onqueue'));
  for (const name of ['@types', '@swc'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
}

const node = (...line: readonly string[]): string =>
  execFileSync(process.execPath, line, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const onqueue = (...line: readonly string[]): string => node(join(root, 'dist/cli/bin.js'), ...line);

it.each([
  ['TypeScript', { devDependencies: { typescript: '*' } }, 'onqueue.config.ts'],
  ['JavaScript with import', { type: 'module', scripts: { worker: 'mine' } }, 'onqueue.config.js'],
  ['JavaScript with require', { type: 'commonjs' }, 'onqueue.config.js'],
])(
  'in %s, init writes a project that dispatches a job and runs it, and make:job another job',
  (_, manifest, config) => {
    given(manifest);
    onqueue('init');
    const made = onqueue('make:job', 'SendHTMLMail');

    if (config.endsWith('.ts')) node(join(root, 'node_modules/typescript/bin/tsc'), '-p', '.');
    const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    expect(scripts['worker']).toBe('scripts' in manifest ? 'mine' : 'onqueue work');
    expect(node(scripts['dispatch']!.replace(/^.*node /, ''))).toBe('1 waits\n');
    expect(onqueue('work', '--stop-when-empty')).toContain('SendWelcome: ada@example.org');
    expect(made).toContain(`Wrote src/jobs/send-html-mail.${config.slice(-2)}.`);
  },
);
