import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { filesMatching } from '../../src/cli/project-files';

const FILES = [
  'jobs.js',
  'jobs/a.js',
  'jobs/b.ts',
  'jobs/b.d.ts',
  'jobs/b.js.map',
  'jobs/deep/er/c.mjs',
  'jobs/node_modules/package/index.js',
  'jobs/.cache/d.js',
  'jobs/.hidden.js',
  'other/a+b.js',
  'other/aab.js',
];

describe('a file pattern', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'onqueue-glob-'));
    for (const file of FILES) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), '');
    }
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  const found = (pattern: string): string[] => filesMatching(pattern, folder).map((file) => relative(folder, file));

  it.each([
    ['jobs.js', ['jobs.js']],
    ['./jobs/b.js.map', ['jobs/b.js.map']],
    ['jobs/*', ['jobs/a.js', 'jobs/b.ts']],
    ['jobs/*.ts', ['jobs/b.ts']],
    ['jobs/?.js', ['jobs/a.js']],
    ['jobs/**', ['jobs/a.js', 'jobs/b.ts', 'jobs/deep/er/c.mjs']],
    ['jobs/**/*.mjs', ['jobs/deep/er/c.mjs']],
    ['jobs/**/er/*', ['jobs/deep/er/c.mjs']],
    ['**/a*.js', ['jobs/a.js', 'other/a+b.js', 'other/aab.js']],
    ['**/**/a.js', ['jobs/a.js']],
    ['*/a.js', ['jobs/a.js']],
    ['jobs/.cache/*.js', ['jobs/.cache/d.js']],
    ['other/a+b*', ['other/a+b.js']],
  ])('%s matches %j', (pattern, files) => {
    expect(found(pattern)).toEqual(files);
  });

  it.each(['nothing.js', 'jobs', 'nothing/*.js', 'jobs.js/*', 'jobs/*.json', 'jobs/**/d.js'])(
    '%s matches nothing',
    (pattern) => {
      expect(found(pattern)).toEqual([]);
    },
  );

  it('may be absolute', () => {
    expect(filesMatching(join(folder, 'jobs/*.js'), tmpdir())).toEqual([join(folder, 'jobs/a.js')]);
  });
});
