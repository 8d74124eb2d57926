import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import {
  findConfigFile,
  loadConfiguration,
  projectFolder,
  staleRemark,
} from '../../../src/application/configuration/config-file';

const root = resolve(__dirname, '../../..');
const run = promisify(execFile);

/** The built package, because Jest's own `require` hides what Node.js does. It is in a folder without a compiler. */
const built = join(realpathSync(mkdtempSync(join(tmpdir(), 'onqueue-built-'))), 'dist');

beforeAll(() => cpSync(join(root, 'dist'), built, { recursive: true }));
afterAll(() => rmSync(dirname(built), { recursive: true }));

// Each process has to start and load a compiler, beside other tests that do the same.

let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'onqueue-config-')));
});

afterEach(() => rmSync(folder, { recursive: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** What a separate Node.js process loads from the configuration file in the folder. */
async function loadedByNode(expression = 'loaded', ...options: string[]): Promise<unknown> {
  const program = `
    const { findConfigFile, loadConfiguration } = require(${JSON.stringify(join(built, 'application/configuration/config-file'))});
    let loaded, error;
    try { loaded = loadConfiguration(findConfigFile(${JSON.stringify(folder)})); } catch (thrown) { error = thrown; }
    console.log(JSON.stringify(error ? { code: error.code, message: error.message } : ${expression}));`;
  const { JEST_WORKER_ID: _jest, ...env } = process.env;
  const { stdout } = await run(process.execPath, ['--no-warnings', ...options, '-e', program], { cwd: folder, env });
  return JSON.parse(stdout);
}

const withCompiler = (): void => symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));

describe("the project's folder", () => {
  it('is the nearest one with a package.json, from the working directory upward', () => {
    write({ 'package.json': '{}', 'packages/api/package.json': '{}', 'packages/api/src/deep/file': '' });

    expect(projectFolder(join(folder, 'packages/api/src/deep'))).toBe(join(folder, 'packages/api'));
    expect(projectFolder(join(folder, 'packages'))).toBe(folder);
  });

  it.each(['ts', 'js', 'cjs', 'mjs'])('is where its configuration file stands: onqueue.config.%s', (ending) => {
    expect(findConfigFile(folder)).toBeUndefined();
    write({ [`onqueue.config.${ending}`]: '' });
    expect(findConfigFile(folder)).toBe(join(folder, `onqueue.config.${ending}`));
  });

  it.each(['mts', 'cts', 'json', 'yaml'])(
    'is refused with onqueue.config.%s, instead of using the default store',
    (ending) => {
      write({ [`onqueue.config.${ending}`]: '' });
      expect(() => findConfigFile(folder)).toThrow(
        `onqueue.config.${ending} could not be loaded: files with this ending are not read. ` +
          'Make it one of onqueue.config.ts, onqueue.config.js, onqueue.config.cjs, onqueue.config.mjs.',
      );
    },
  );

  it.each([
    ['ts', 'json'],
    ['js', 'mjs'],
  ])('is refused with two configuration files: .%s and .%s', (one, other) => {
    write({ [`onqueue.config.${one}`]: '', [`onqueue.config.${other}`]: '' });
    expect(() => findConfigFile(folder)).toThrow(
      `onqueue.config.${one} could not be loaded: onqueue.config.${other} is beside it`,
    );
  });

  it.each(['js', 'cjs', 'mjs'])('uses a compiled onqueue.config.%s instead of its TypeScript source', (ending) => {
    const [source, compiled] = ['onqueue.config.ts', `onqueue.config.${ending}`];
    write({ [source]: '', [compiled]: '' });
    utimesSync(join(folder, source), 1000, 1000);
    expect(findConfigFile(folder)).toBe(join(folder, compiled));
    expect(staleRemark(join(folder, compiled))).toBeUndefined();

    utimesSync(join(folder, compiled), 999, 999);
    expect(staleRemark(join(folder, compiled))).toMatch(/onqueue\.config\.ts beside it is newer: compile it again/);
  });

  it('may hold other files named like the configuration', () => {
    write({
      'onqueue.config.js': '',
      'onqueue.config.js.map': '',
      'onqueue.config.d.ts': '',
      'onqueue.config.bak': '',
    });
    expect(findConfigFile(folder)).toBe(join(folder, 'onqueue.config.js'));
  });
});

describe('a configuration file', () => {
  const expected = { default: 'a', connections: { a: { driver: 'memory' } } };
  const object = JSON.stringify(expected);

  it.each([
    ['CommonJS', 'onqueue.config.js', `module.exports = ${object};`],
    ['CommonJS with a default export', 'onqueue.config.cjs', `exports.default = ${object};`],
    ['an ES module', 'onqueue.config.mjs', `export default ${object};`],
    ['an ES module of a compiled default export', 'onqueue.config.mjs', `export default { default: ${object} };`],
  ])('may be %s', async (_kind, name, text) => {
    write({ 'package.json': '{}', [name]: text });

    expect(await loadedByNode()).toEqual(expected);
  });

  it('may be TypeScript with emitted decorator types, in a project of ES modules', async () => {
    withCompiler();
    write({
      'package.json': '{"type":"module"}',
      'onqueue.config.ts': `import { mail } from './mail.js';\nexport default { connections: { [mail]: { driver: 'memory' } } };`,
      'mail.ts': `
        const seen: string[] = [];
        (Reflect as any).metadata = (key: string, types: any) => () => void seen.push(key + [].concat(types ?? []).map((type: any) => type.name));
        const declare = (target: any) => void seen.push(target.name);
        class Mailer {}
        @declare class Mail { constructor(private readonly mailer: Mailer) {} }
        export const mail = seen.join(' ');`,
    });

    expect(await loadedByNode('Object.keys(loaded.connections)')).toEqual([
      expect.stringMatching(/design:paramtypesMailer .* Mail$/),
    ]);
  });

  it('may be TypeScript that imports through the paths of a tsconfig.json, as the compiler does', async () => {
    withCompiler();
    write({
      'package.json': '{}',
      'tsconfig.json': `{ // the project's
        "extends": ["./base", "@somebody/absent/tsconfig.json"],
        "compilerOptions": { "module": "nodenext", }, /* and no more */ }`,
      'base.json': JSON.stringify({
        compilerOptions: {
          paths: {
            '@/*': ['./absent/*', './src/*'],
            '@/jobs/*': ['${configDir}/src/jobs/*'],
            exact: ['./src/exact.ts'],
          },
        },
      }),
      'src/jobs/mail.ts': `import { a } from '@/letters.js';\nexport const mail = 'mail ' + a;`,
      'src/letters.ts': `export const a: string = 'a';`,
      'src/exact.ts': `export { join } from 'path';`,
      'onqueue.config.ts': `import { mail } from '@/jobs/mail';\nimport { join } from 'exact';
        export default { connections: { [join(mail, 'b')]: { driver: 'memory' } } };`,
    });

    expect(await loadedByNode('Object.keys(loaded.connections)')).toEqual(['mail a/b']);
  });

  it('is shown with the line of its source if Node.js refuses what TypeScript compiles', async () => {
    withCompiler();
    write({
      'package.json': '{}',
      'jobs.ts': `interface Size {\n  readonly width: number;\n}\n\nclass Resize {\n  accessor size?: Size;\n}`,
      'onqueue.config.ts': `
        let place = '';
        try { require('./jobs'); } catch (error) { place = (error as Error).stack!; }
        export default { connections: { [place]: { driver: 'memory' } } };`,
    });

    expect(await loadedByNode('Object.keys(loaded.connections)')).toEqual([
      expect.stringMatching(/^.*jobs\.ts:6\n {2}accessor size\?: Size;\n {11}\^\n\nSyntaxError: Unexpected identifier/),
    ]);
  });

  it('may be TypeScript that imports from the baseUrl, and packages as usual', async () => {
    withCompiler();
    write({
      'package.json': '{}',
      'tsconfig.json': '{ "compilerOptions": { "baseUrl": "src" } }',
      'src/jobs/mail.ts': `import { transformSync } from '@swc/core';\nexport const mail = typeof transformSync;`,
      'onqueue.config.ts': `import { mail } from 'jobs/mail';\nexport default { connections: { [mail]: { driver: 'memory' } } };`,
    });

    expect(await loadedByNode('Object.keys(loaded.connections)')).toEqual(['function']);
  });

  it('is refused with the name of a tsconfig.json that cannot be read', async () => {
    withCompiler();
    write({ 'package.json': '{}', 'tsconfig.json': '{ broken', 'onqueue.config.ts': `import 'absent';` });

    expect(await loadedByNode()).toEqual({
      code: 'E_CONFIG_FILE',
      message: expect.stringMatching(/tsconfig\.json could not be loaded: .*JSON/) as string,
    });
  });

  it('is refused with the package to install if it is TypeScript and nothing can compile it', async () => {
    write({ 'package.json': '{}', 'onqueue.config.ts': `export default ${object};` });

    expect(await loadedByNode()).toEqual({
      code: 'E_TYPESCRIPT_LOADER',
      message: expect.stringMatching(
        /npm install --save-dev @swc\/core.*onqueue work --config dist\/onqueue\.config\.js/,
      ) as string,
    });
  });

  it('is compiled by a TypeScript loader that is already registered', async () => {
    write({
      'package.json': '{}',
      'onqueue.config.ts': `this is for another compiler`,
      'register.cjs': `require.extensions['.ts'] = (module) => { module.exports = ${object}; };`,
    });

    expect(await loadedByNode('loaded', '--require', join(folder, 'register.cjs'))).toEqual(expected);
  });

  it('is refused with the file and the reason if it throws or has a top-level await', async () => {
    write({ 'package.json': '{}', 'onqueue.config.js': `require('./not-there.js')` });
    expect(await loadedByNode()).toMatchObject({
      code: 'E_CONFIG_FILE',
      message: expect.stringMatching(
        /onqueue\.config\.js could not be loaded: Cannot find module '\.\/not-there\.js'/,
      ) as string,
    });

    rmSync(join(folder, 'onqueue.config.js'));
    write({ 'onqueue.config.mjs': `export const config = {};` });
    expect(await loadedByNode()).toMatchObject({
      code: 'E_CONFIG_FILE',
      message: expect.stringContaining('it has no default export. Write: export default defineConfig(') as string,
    });

    write({ 'onqueue.config.mjs': `await null;\nexport default {};` });
    expect(await loadedByNode()).toMatchObject({
      code: 'E_CONFIG_FILE',
      message: expect.stringContaining('uses await at its top level') as string,
    });
  });

  it.each([
    ['nothing', 'module.exports = undefined;', 'its default export is of type undefined'],
    ['an empty object, as a file without exports does', 'const unused = {};', 'it exports nothing'],
    ['a list', 'module.exports = [];', 'its default export is an array'],
    [
      'a function that returns nothing',
      'module.exports = () => undefined;',
      'its function returned a value of type undefined',
    ],
    ['a function that throws', 'module.exports = () => { throw new Error("no vault"); };', 'no vault'],
  ])('is refused if it exports %s', (_what, text, message) => {
    write({ 'onqueue.config.js': text });

    expect(() => loadConfiguration(join(folder, 'onqueue.config.js'))).toThrow(message);
  });

  it('may export a function that returns the configuration or a promise of it', async () => {
    write({ 'onqueue.config.js': `module.exports = () => (${object});` });
    expect(loadConfiguration(join(folder, 'onqueue.config.js'))).toEqual(expected);

    write({ 'onqueue.config.cjs': `exports.default = async () => (${object});` });
    expect(await loadConfiguration(join(folder, 'onqueue.config.cjs'))).toEqual(expected);
  });

  it.each([
    ['nothing', 'async () => undefined', 'its function returned a value of type undefined'],
    ['an error', 'async () => { throw new Error("no vault"); }', 'no vault'],
  ])('is refused with its path if the promise of its function gives %s', async (_what, text, message) => {
    const file = join(folder, 'onqueue.config.js');
    write({ 'onqueue.config.js': `module.exports = ${text};` });

    await expect(loadConfiguration(file)).rejects.toMatchObject({
      code: 'E_CONFIG_FILE',
      message: expect.stringMatching(new RegExp(`^${file} could not be loaded: ${message}`)) as string,
    });
  });
});
