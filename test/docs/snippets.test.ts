import { join } from 'node:path';
import { type Ended, Project, requireBuild, root } from '../support/project';
import { snippetsIn, snippetsOf } from './snippet';

// Everything is compiled together before the first test.

const snippets = snippetsOf(root);
const compiling = snippets.filter(({ language }) => language === 'ts');
const running = snippets.filter(({ runs }) => runs);

/** Packages that snippets import besides Onqueue. */
const PACKAGES = [
  '@types/node',
  'nodemailer',
  '@types/nodemailer',
  '@types/pg',
  '@types/express',
  'kysely',
  'knex',
  '@opentelemetry/sdk-trace-node',
];

const TSCONFIG = {
  compilerOptions: {
    target: 'es2022',
    module: 'nodenext',
    moduleResolution: 'nodenext',
    moduleDetection: 'force',
    strict: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    types: ['node'],
    outDir: 'out',
    rootDir: '.',
  },
  include: ['*.ts'],
};

/** The output, and the reason if it failed. Standard error is the log, which is otherwise ignored. */
const summary = ({ code, stdout, stderr }: Ended): object => (code === 0 ? { stdout } : { code, stdout, stderr });

describe('the TypeScript in README and docs', () => {
  let project: Project;
  let compiled: Ended;

  beforeAll(async () => {
    // Modules, because a page may await at its top level.
    project = new Project({ type: 'module' });
    requireBuild();
    project.linkPackage();
    for (const name of PACKAGES) project.link(name);
    project.write('tsconfig.json', JSON.stringify(TSCONFIG));
    for (const { name, language, source } of snippets) project.write(`${name}.${language}`, source);
    compiled = await project.run([join(root, 'node_modules/typescript/bin/tsc'), '-p', '.']);
  });
  afterAll(() => project.remove());

  it('exists', () => {
    expect(snippets.length).toBeGreaterThan(0);
  });

  it.each(compiling)('$place compiles', ({ name, line, offset }) => {
    const errors = [...compiled.stdout.matchAll(/^([\w-]+)\.ts\((\d+),\d+\): (.*)$/gm)]
      .filter(([, file]) => file === name)
      .map(([, , at, message]) => `line ${Number(at) - offset + line - 1}: ${message}`);
    expect(errors).toEqual([]);
  });

  it('compiles as a whole', () => {
    expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('runs, ends by itself and prints what the page says, if it is marked with run', async () => {
    const seen = [];
    for (const { place, name, language } of running) {
      seen.push({ place, ...summary(await project.run([join(language === 'ts' ? 'out' : '.', `${name}.js`)])) });
    }
    expect(seen).toEqual(running.map(({ place, output = expect.any(String) }) => ({ place, stdout: output })));
  });
});

describe('a documentation page', () => {
  const page = [
    'one',
    '```ts run',
    'a();',
    '```',
    '```text output',
    'A',
    '```',
    '```ts fragment',
    'b();',
    '```',
    '',
  ].join('\n');

  it('gives its blocks with their places and marks', () => {
    const [whole, fragment] = snippetsIn('docs/a.md', page);
    expect(whole).toMatchObject({
      place: 'docs/a.md:3',
      name: 'docs-a-md-3',
      source: 'a();\n',
      runs: true,
      output: 'A\n',
    });
    expect(fragment).toMatchObject({ place: 'docs/a.md:9', runs: false, source: expect.stringContaining('b();') });
  });

  it('is refused if a block has an unknown mark', () => {
    expect(() => snippetsIn('docs/a.md', '```ts runs\na();\n```\n')).toThrow(
      "docs/a.md:2: a block can be 'run', 'fragment', 'framework', not 'runs'",
    );
  });
});
