import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Project, root } from '../support/project';

/** Joined at run time, so that this file does not break the rules itself. */
const joined = (...parts: readonly string[]): string => parts.join('');

const BAD: readonly (readonly [path: string, text: string, complaint: RegExp])[] = [
  ['docs/a.md', joined('see /ho', 'me/ada/onqueue'), /docs\/a\.md:1: .*a path of one machine/],
  ['docs/b.md', 'Write {{ name }}.', /docs\/b\.md:1: .*a template of Vue/],
  ['.npmrc', joined('registry=https://regi', 'stry.npmjs.org/'), /\.npmrc:1: .*a setting of the machine/],
  ['src/a.ts', joined('// TO', 'DO: later'), /src\/a\.ts:1: .*unfinished/],
  ['src/b.ts', joined('// @ts-', 'ignore'), /src\/b\.ts:1: .*hides every error/],
  ['src/c.ts', 'export const now = new Date();', /src\/c\.ts:1: .*reads the clock/],
  ['test/a.test.ts', joined('it.on', "ly('a', () => undefined);"), /test\/a\.test\.ts:1: .*protects nothing/],
  ['test/b.test.ts', joined('expect(a).toMatch', 'Snapshot();'), /test\/b\.test\.ts:1: .*a snapshot/],
  ['src/long.ts', '\n'.repeat(601), /src\/long\.ts has 601 lines/],
  ['dist/index.js', '', /dist\/index\.js is generated/],
  [
    'package-lock.json',
    '{"packages":{"node_modules/a":{"resolved":"https://a.example/a.tgz"}}}',
    /node_modules\/a has an address/,
  ],
];

const SITE = `import { defineConfig } from 'vitepress';
export default defineConfig({ themeConfig: { search: { options: { _render: (text) => text } }, nav: [], sidebar: [] } });
`;

describe('the repository check', () => {
  const project = new Project();
  afterAll(() => project.remove());

  const check = () => project.run(['scripts/check-repository.mjs']);

  beforeAll(() => {
    project.copy(join(root, 'scripts/check-repository.mjs'), 'scripts/check-repository.mjs');
    project.write('package-lock.json', '{"packages":{}}');
    project.write('site/.vitepress/config.mjs', SITE);
    spawnSync('git', ['init', '-q'], { cwd: project.folder });
  });

  it('accepts files that keep the rules', async () => {
    project.write('src/good.ts', 'export const good = new Date(0);\n');
    expect(await check()).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('reports each breach with its place and reason', async () => {
    for (const [path, text] of BAD) project.write(path, text);
    const { code, stderr } = await check();
    expect(code).toBe(1);
    for (const [, , complaint] of BAD) expect(stderr).toMatch(complaint);
    expect(stderr.trim().split('\n')).toHaveLength(BAD.length);
  });
});
