import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Project, requireBuild, root } from '../support/project';
import { startRedisServer } from '../support/redis-server';

// Each test starts compilers and test runners, so they run concurrently.

/** Dispatches, works and closes, and must then end by itself. Plain JavaScript without decorators. */
const PROGRAM = `
const SayHello = Job({ queue: 'greetings', name: 'SayHello' })(
  class extends Job {
    constructor(name) {
      super();
      this.name = name;
    }
    async handle() {
      console.log('hello ' + this.name);
    }
  },
);
(async () => {
  Queue.configure({
    connections: { database: { driver: 'database', url: 'sqlite:./jobs.sqlite' } },
    logger: silentLogger,
  });
  await SayHello.dispatch('Ada');
  console.log(await new Worker({ queue: 'greetings', stopWhenEmpty: true }).run());
  await Queue.close();
  console.log('closed');
})();
`;

/** The same without a connection, for an environment that names a Redis. */
const REDIS_PROGRAM = `const { Job, Queue, silentLogger, Worker } = require('onqueue');${PROGRAM}`.replace(
  /connections: .*\n/,
  '',
);

const TYPED_PROGRAM = `
import 'reflect-metadata';
import { Inject, Job, OnqueueError, Queue, silentLogger, Worker } from 'onqueue';

class Greeter {
  greet(name: string): string {
    return 'hello ' + name;
  }
}

@Job({ queue: 'greetings', tries: 3, backoff: ['1s', '5s'] })
class SayHello extends Job {
  constructor(readonly name: string) {
    super();
  }

  async handle(@Inject() greeter: Greeter): Promise<void> {
    console.log(greeter.greet(this.name));
  }
}

async function main(): Promise<void> {
  Queue.configure({
    connections: { database: { driver: 'database', url: 'sqlite:./jobs.sqlite' } },
    logger: silentLogger,
  });
  const id: string = await SayHello.dispatch('Ada');
  if (id === '') throw new Error('no id');
  // @ts-expect-error the constructor takes a string
  const refused = (): unknown => SayHello.dispatch(1);
  if (refused instanceof OnqueueError) return;
  console.log(await new Worker({ queue: 'greetings', stopWhenEmpty: true }).run());
  await Queue.close();
  console.log('closed');
}

void main();
`;

const WORKED = { code: 0, stdout: 'hello Ada\nempty\nclosed\n', stderr: '' };
const { version } = jest.requireActual<{ version: string }>('../../package.json');
const compiler = join(root, 'node_modules/typescript/bin/tsc');

const compilerOptions = {
  target: 'es2022',
  strict: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  outDir: 'out',
  rootDir: '.',
};

describe('the packed package', () => {
  let tarball: string;
  const pack = new Project();
  const projects = [pack];

  beforeAll(() => {
    requireBuild();
    const packed = spawnSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', pack.folder], {
      cwd: root,
      encoding: 'utf8',
    });
    const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
    tarball = join(pack.folder, filename);
  });
  afterAll(() => {
    for (const project of projects) project.remove();
  });

  function projectWith(files: Readonly<Record<string, string>>, manifest: object = {}): Project {
    const project = new Project(manifest);
    projects.push(project);
    project.install(tarball);
    for (const [path, text] of Object.entries(files)) project.write(path, text);
    return project;
  }

  it.concurrent('works in a program that requires it, which ends by itself', async () => {
    const project = projectWith({
      'main.cjs': `const { Job, Queue, silentLogger, Worker } = require('onqueue');${PROGRAM}`,
    });
    expect(await project.run(['main.cjs'])).toEqual(WORKED);
  });

  it.concurrent('works in a program that imports it, which ends by itself', async () => {
    const project = projectWith(
      { 'main.js': `import { Job, Queue, silentLogger, Worker } from 'onqueue';${PROGRAM}` },
      { type: 'module' },
    );
    expect(await project.run(['main.js'])).toEqual(WORKED);
  });

  it.concurrent('is the same for require and import', async () => {
    const project = projectWith({
      'main.mjs': `
        import { createRequire } from 'node:module';
        import { Job, Queue } from 'onqueue';
        const required = createRequire(import.meta.url)('onqueue');
        console.log(required.Job === Job, required.Queue === Queue);
      `,
    });
    expect(await project.run(['main.mjs'])).toEqual({ code: 0, stdout: 'true true\n', stderr: '' });
  });

  it.concurrent('loads no driver and no client of a store before a connection is used', async () => {
    const project = projectWith({
      'main.cjs': `
        const { Queue } = require('onqueue');
        Queue.configure({ default: 'a', connections: { a: { driver: 'redis' }, b: { driver: 'sqs' }, c: { driver: 'database' } } });
        const loaded = Object.keys(require.cache);
        const drivers = loaded.filter((file) => /connections.(redis|sql|sqs|beanstalkd).*connection[.]js$/.test(file));
        console.log(drivers, loaded.filter((file) => /node_modules.(ioredis|libsql|pg|mysql2|@aws-sdk)/.test(file)));
      `,
    });
    expect(await project.run(['main.cjs'])).toEqual({ code: 0, stdout: '[] []\n', stderr: '' });
  });

  it.concurrent('loads no container in the thread that renews leases, for any store', async () => {
    const project = projectWith({
      'main.cjs': `
        const { dirname, join } = require('node:path');
        const stores = ['redis/connection', 'sql/opening', 'sqs/connection'];
        for (const store of stores) require(join(dirname(require.resolve('onqueue')), 'connections', store));
        console.log(Object.keys(require.cache).filter((file) => /tsyringe|reflect-metadata|dist.container/.test(file)));
      `,
    });
    expect(await project.run(['main.cjs'])).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
  });

  it.concurrent('loads adapters for entities only by their subpath, and nothing of Onqueue with them', async () => {
    const project = projectWith({
      'main.cjs': `
        const ours = () => Object.keys(require.cache).filter((file) => /dist/.test(file));
        require('onqueue');
        const before = ours();
        require('onqueue/entities');
        const isEntities = (file) => /dist.entities/.test(file);
        console.log(before.filter(isEntities), ours().filter((file) => !before.includes(file) && !isEntities(file)));
      `,
    });
    expect(await project.run(['main.cjs'])).toEqual({ code: 0, stdout: '[] []\n', stderr: '' });
  });

  it.concurrent('loads jobs of Laravel only by their subpath', async () => {
    const project = projectWith({
      'main.cjs': `
        const loaded = () => Object.keys(require.cache).filter((file) => /dist.laravel/.test(file)).length;
        require('onqueue');
        const before = loaded();
        const { LaravelJob, model } = require('onqueue/laravel');
        console.log(before, loaded() > 0, typeof LaravelJob, model('App', 7).id);
      `,
    });
    expect(await project.run(['main.cjs'])).toEqual({ code: 0, stdout: '0 true function 7\n', stderr: '' });
  });

  it.concurrent('needs Nest only for its subpath, which says so', async () => {
    const project = projectWith({
      'main.cjs': `
        const loaded = () => Object.keys(require.cache).filter((file) => /nest/.test(file)).length;
        require('onqueue');
        console.log(loaded());
        try { require('onqueue/nest'); } catch ({ code, message }) { console.log(code, message); }
      `,
    });
    const [loaded, problem] = (await project.run(['main.cjs'])).stdout.split('\n');
    expect(loaded).toBe('0');
    expect(problem).toMatch(
      /^E_MISSING_PEER onqueue.nest needs the package @nestjs.(core|common), .* Run: npm install @nestjs/,
    );
  });

  it.concurrent('loads OpenTelemetry only by its subpath, and when it is used', async () => {
    const project = projectWith({
      'main.cjs': `
        const loaded = () => Object.keys(require.cache).filter((file) => /opentelemetry/.test(file)).length;
        const { Queue } = require('onqueue');
        const { openTelemetry } = require('onqueue/otel');
        const before = loaded();
        Queue.observe(openTelemetry());
        console.log(before, loaded() > 0);
      `,
    });
    expect(await project.run(['main.cjs'])).toEqual({ code: 0, stdout: '0 true\n', stderr: '' });
  });

  it.concurrent('lets a program that awaited its dispatches end by itself without Queue.close()', async () => {
    const project = projectWith({
      'main.cjs': `
        const { Job, Queue, silentLogger } = require('onqueue');
        const Wait = Job({ name: 'Wait' })(class extends Job { async handle() {} });
        Queue.configure({ logger: silentLogger });
        Wait.dispatch().then(() => console.log('sent'));
      `,
    });
    expect(await project.run(['main.cjs'])).toEqual({ code: 0, stdout: 'sent\n', stderr: '' });
  });

  it.concurrent.each([
    ['nodenext, as CommonJS', { module: 'nodenext', moduleResolution: 'nodenext' }, 'commonjs'],
    ['nodenext, as a module', { module: 'nodenext', moduleResolution: 'nodenext' }, 'module'],
    ['the bundler resolution', { module: 'esnext', moduleResolution: 'bundler' }, 'module'],
  ])('compiles and works in TypeScript: %s', async (_name, options, type) => {
    const project = projectWith({ 'main.ts': TYPED_PROGRAM }, { type });
    project.link('@types/node');
    project.write(
      'tsconfig.json',
      JSON.stringify({ compilerOptions: { ...compilerOptions, ...options }, files: ['main.ts'] }),
    );
    expect(await project.run([compiler, '-p', '.'])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await project.run(['out/main.js'])).toEqual(WORKED);
  });

  it.concurrent('runs the job of the README with the command of the README', async () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const [, program = ''] = /```ts run\n(.*?)```/s.exec(readme) ?? [];
    const [jobs = '', dispatch = ''] = program.split(/^(?=await )/m);
    const [, line = ''] = /^npx onqueue (work .*)$/m.exec(readme) ?? [];
    const project = projectWith(
      {
        'jobs.ts': jobs.replace('class SendWelcome', 'export class SendWelcome'),
        'main.ts': `import { Queue } from 'onqueue';\nimport { SendWelcome } from './jobs.js';\n${dispatch}await Queue.close();\n`,
      },
      { type: 'module' },
    );
    project.link('@types/node');
    const esm = { module: 'nodenext', moduleResolution: 'nodenext', outDir: 'dist' };
    const tsconfig = { compilerOptions: { ...compilerOptions, ...esm }, include: ['*.ts'] };
    project.write('tsconfig.json', JSON.stringify(tsconfig));
    expect(await project.run([compiler, '-p', '.'])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await project.run(['dist/main.js'])).toMatchObject({ code: 0 });

    const worker = await project.run(['node_modules/onqueue/dist/cli/bin.js', ...line.split(' '), '--drain']);

    expect(worker).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Welcome, ada@example\.org$/m) as string });
    expect(worker.stderr).not.toMatch(/"level":"(?:warn|error)"/);
  });

  it.concurrent('has types for every entry point that pass without skipLibCheck', async () => {
    const project = projectWith({
      'main.ts': `
        import { Queue } from 'onqueue';
        import { dashboard } from 'onqueue/dashboard';
        import * as entities from 'onqueue/entities';
        import * as laravel from 'onqueue/laravel';
        import * as nest from 'onqueue/nest';
        import * as otel from 'onqueue/otel';
        import { conformance } from 'onqueue/testing/conformance';
        import * as testing from 'onqueue/testing';
        export { conformance, dashboard, entities, laravel, nest, otel, Queue, testing };
      `,
    });
    for (const name of ['@types/node', '@nestjs']) project.link(name);
    const options = {
      ...compilerOptions,
      module: 'nodenext',
      moduleResolution: 'nodenext',
      noEmit: true,
      skipLibCheck: false,
    };
    project.write('tsconfig.json', JSON.stringify({ compilerOptions: options, files: ['main.ts'] }));
    expect(await project.run([compiler, '-p', '.'])).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it.concurrent('works on Redis if the folder of the scripts is missing, as in a bundle', async () => {
    const project = projectWith({ 'main.cjs': REDIS_PROGRAM });
    rmSync(join(project.folder, 'node_modules/onqueue/lua'), { recursive: true });
    const server = await startRedisServer();
    const ended = await project.run(['main.cjs'], { REDIS_URL: server.url });
    await server.stop();
    expect(ended).toEqual(WORKED);
  });

  it.concurrent('contains the dashboard with its style and scripts', async () => {
    const project = projectWith({
      'main.mjs': `
        import { Queue, silentLogger } from 'onqueue';
        import { dashboard } from 'onqueue/dashboard';
        Queue.configure({ connections: { memory: { driver: 'memory' } }, logger: silentLogger });
        const panel = dashboard({ authorize: () => 'viewer' });
        const ask = (page) => panel.fetch(new Request(new URL(page, 'http://shop.example/jobs/')));
        const page = await (await ask('')).text();
        const assets = [...page.matchAll(/(?:href|src)="([^"]+[.](?:css|js|svg))"/g)].map(([, name]) => name);
        for (const name of new Set(assets)) console.log(name, (await ask(name)).status);
        await Queue.close();
      `,
    });
    const { code, stdout, stderr } = await project.run(['main.mjs']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trim().split('\n').toSorted()).toEqual([
      expect.stringMatching(/^icon\S*\.svg 200$/),
      expect.stringMatching(/^script\S*\.js 200$/),
      expect.stringMatching(/^style\S*\.css 200$/),
    ]);
  });

  it.concurrent('contains its command', async () => {
    const project = projectWith({});
    const { code, stdout } = await project.run(['node_modules/onqueue/dist/cli/bin.js', '--version']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${version}\n` });
  });

  it.concurrent('refers only to documentation pages that it contains', () => {
    const folder = join(projectWith({}).folder, 'node_modules/onqueue');
    const texts = readdirSync(join(folder, 'dist'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js'))
      .map((name) => readFileSync(join(folder, 'dist', name), 'utf8'));
    const pages = new Set(texts.flatMap((text) => text.match(/\bdocs\/[a-z-]+\.md/g) ?? []));
    expect(pages).toContain('docs/format.md');
    expect([...pages].filter((page) => !existsSync(join(folder, page)))).toEqual([]);
  });

  it.concurrent('works in a project tested with Jest, and leaves nothing open there', async () => {
    const project = projectWith({
      'hello.test.js': `
        const { Job, Queue } = require('onqueue');
        require('onqueue/testing');
        const SayHello = Job({ name: 'SayHello' })(class extends Job { async handle() {} });
        test('a hello is dispatched', async () => {
          const queue = Queue.fake();
          await SayHello.dispatch();
          queue.assertPushed(SayHello);
          queue.restore();
        });
      `,
      'jest.config.js': 'module.exports = { rootDir: __dirname };',
    });
    const { code, stderr } = await project.run([join(root, 'node_modules/jest/bin/jest.js'), '--ci']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Tests:       1 passed, 1 total') });
    expect(stderr).not.toContain('did not exit');
  });
});
