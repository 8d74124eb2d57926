import type { Diagnosis } from '../../src/connections/contract';
import { builtInConnectors } from '../../src/connections/built-in';
import { diagnoseNode } from '../../src/cli/diagnosis';
import { CommandKit, itemsIn } from './kit/command-kit';

describe('check', () => {
  let kit: CommandKit;

  beforeEach(() => {
    kit = new CommandKit();
  });

  afterEach(() => kit.close());

  async function check(...line: readonly string[]): Promise<{ code: number; of: (subject: string) => Diagnosis[] }> {
    const { code, stdout } = await kit.run('check', '--json', ...line);
    const found = itemsIn(stdout) as Diagnosis[];
    return { code, of: (subject) => found.filter((one) => one.subject.startsWith(subject)) };
  }

  it('reports versions, configuration and stores, and ends with 0 if there are only warnings', async () => {
    const { code, of } = await check();

    expect(of('node')).toEqual([{ level: 'ok', subject: 'node', message: process.versions.node }]);
    expect(of('reflect-metadata')).toMatchObject([{ level: 'ok' }]);
    expect(of('configuration')).toMatchObject([
      { level: 'ok', message: expect.stringContaining('onqueue.config.js') as string },
    ]);
    expect(of('connection memory')).toMatchObject([{ level: 'ok' }, { level: 'warning' }]);
    expect(of('jobs')).toMatchObject([{ level: 'warning', message: expect.stringContaining('--require') as string }]);
    expect(code).toBe(0);
  });

  it('names the configuration file, and the default connection if it configures none', async () => {
    kit.project.write({ 'onqueue.config.js': 'module.exports = { jobs: [] };' });
    kit.connectors = { database: () => Object.assign(kit.store.duplicate(), { name: 'database' }) };

    const { of } = await check();

    expect(of('configuration')[0]?.message).toMatch(
      /onqueue\.config\.js; the connection is the default, a SQLite file$/,
    );
  });

  it('warns about a configuration that could not be loaded in production', async () => {
    kit.project.write({ 'other.config.ts': "export default { connections: { memory: { driver: 'memory' } } };" });

    const before = await check('--config=other.config.ts');
    kit.project.write({ 'package.json': '{"dependencies":{"@swc/core":"1.0.0"}}' });
    const after = await check('--config=other.config.ts');

    expect(before.of('other.config.ts')).toMatchObject([
      { level: 'warning', message: expect.stringContaining('onqueue work --config dist/onqueue.config.js') as string },
    ]);
    expect(after.of('other.config.ts')).toEqual([]);
  });

  it('warns in production of stores that are for tests or for one machine', async () => {
    kit.project.write({
      'onqueue.config.js': `module.exports = { default: 'memory', connections: { memory: { driver: 'memory' },
        file: { driver: 'database', url: 'sqlite:./x.sqlite' }, atOnce: { driver: 'sync' } } };`,
    });
    kit.connectors = { ...builtInConnectors, ...kit.connectors };
    const unfit = (found: Diagnosis[]) => found.filter(({ message }) => message.startsWith('NODE_ENV is production'));

    const { of: atHome } = await check();
    kit.environment = { NODE_ENV: 'production' };
    const { code, of } = await check();

    expect(unfit(atHome('connection'))).toEqual([]);
    expect(unfit(of('connection')).map(({ level, subject }) => [level, subject])).toEqual([
      ['warning', 'connection memory'],
      ['warning', 'connection file'],
      ['warning', 'connection atOnce'],
    ]);
    expect(code).toBe(0);
  });

  it('prints a table', async () => {
    const { stdout } = await kit.run('check');

    expect(stdout).toMatch(/^level +what +found$/m);
    expect(stdout).toMatch(/^ok +node +\d/m);
  });

  it('ends with 1 if the configuration cannot be loaded, but still reports versions', async () => {
    kit.project.write({ 'onqueue.config.js': "throw new Error('no secrets here');" });

    const { code, of } = await check();

    expect(of('configuration')).toMatchObject([
      { level: 'error', message: expect.stringContaining('no secrets here') as string },
    ]);
    expect(of('node')).toHaveLength(1);
    expect(code).toBe(1);
  });

  it('ends with 1 if a store does not answer, but still asks the others', async () => {
    const config =
      "module.exports = { default: 'a', connections: { a: { driver: 'memory' }, b: { driver: 'memory' } } };";
    kit.project.write({ 'onqueue.config.js': config });
    const stopped = Object.assign(kit.store.duplicate(), {
      name: 'a',
      diagnose: () => Promise.reject(new Error('no answer')),
    });
    const well = Object.assign(kit.store.duplicate(), { name: 'b' });
    kit.connectors = { memory: (_config, { name }) => ({ a: stopped, b: well })[name]! };

    const { code, of } = await check();

    expect(of('connection a')).toMatchObject([
      { level: 'error', message: expect.stringContaining('no answer') as string },
    ]);
    expect(of('connection b')[0]).toMatchObject({ level: 'ok' });
    expect(code).toBe(1);
  });

  it('says what a store tells of itself, also if what it keeps cannot be looked at', async () => {
    const half = Object.assign(kit.store.duplicate(), {
      name: 'memory',
      diagnose: () => Promise.resolve([{ level: 'error', subject: 'slots', message: 'a part of it is down' }]),
      failed: { count: () => Promise.reject(new Error('no answer')) },
    });
    kit.connectors = { memory: () => half };

    const { code, of } = await check();

    expect(of('connection memory').map((line) => `${line.level} ${line.message}`)).toEqual([
      expect.stringContaining('ok '),
      expect.stringMatching(/^error .*no answer/),
      'error a part of it is down',
    ]);
    expect(code).toBe(1);
  });

  it('reports problems with jobs: no handler, an unknown connection, a dependency without types', async () => {
    kit.project.write({
      'jobs.js': `const { Job, Inject } = require('onqueue');
        class Smtp { constructor(host, port) {} }
        class SendMail extends Job { handle(smtp) {} }
        Inject(Smtp)(SendMail.prototype, 'handle', 0);
        Job()(SendMail);
        Job({ connection: 'nowhere' })(class Lost { handle() {} });
        Job()(class Forgotten {});`,
    });

    const { code, of } = await check('--require=jobs.js');

    const messages = of('jobs').map(({ message }) => message);
    expect(messages).toContainEqual('3 registered');
    expect(messages).toContainEqual(
      expect.stringMatching(/^Lost .*'nowhere', which is not configured; configured are memory/),
    );
    expect(messages).toContainEqual(expect.stringMatching(/^Forgotten .*@Handles\(Forgotten\)/));
    expect(of('metadata')).toEqual([
      {
        level: 'warning',
        subject: 'metadata',
        message: expect.stringContaining('constructor of Smtp takes 2 parameters') as string,
      },
    ]);
    expect(code).toBe(1);
  });

  it('names jobs with a lane, what does not see lanes, and a connection that keeps none', async () => {
    kit.project.write({
      'onqueue.config.js': `module.exports = { default: 'memory', connections: {
        memory: { driver: 'memory' }, bare: { driver: 'redis' } } };`,
      'jobs.js': `const { Job } = require('onqueue');
        const lane = { by: (job) => job.tenant, running: 3 };
        Job({ lane })(class Sync { handle() {} });
        Job({ lane, connection: 'bare' })(class Post { handle() {} });`,
    });
    kit.connectors = {
      memory: () => kit.store.duplicate(),
      redis: () => Object.assign(kit.store.duplicate(), { name: 'bare', lanes: undefined }),
    };

    const { code, of } = await check('--require=jobs.js');

    expect(of('lanes')).toEqual([
      { level: 'ok', subject: 'lanes', message: expect.stringMatching(/^Sync, Post\. .*Laravel.*recount/) as string },
    ]);
    expect(of('jobs').map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^Post .*has a lane, and its connection 'bare' \(memory\) keeps none/),
    );
    expect(code).toBe(1);
  });

  it('warns about minified names, but not about explicit ones', async () => {
    kit.project.write({
      'bundle.js': `const { Job } = require('onqueue');
        Job()(class t extends Job { handle() {} });
        Job()(class Ab extends Job { handle() {} });
        Job({ name: 'Go' })(class s extends Job { handle() {} });
        Job()(class Pay extends Job { handle() {} });`,
    });

    const { of } = await check('--require=bundle.js');

    expect(of('jobs').filter(({ message }) => message.includes('minifier'))).toEqual([
      {
        level: 'warning',
        subject: 'jobs',
        message: expect.stringMatching(/may have made: t, Ab\. .*@Job\(\{ name:/) as string,
      },
    ]);
  });

  it('names the classes of waiting jobs that this program does not have, and where they wait', async () => {
    kit.project.write({
      'jobs.js': `const { Job } = require('onqueue');
        Job({ aliases: ['Bill'] })(class Invoice { handle() {} });`,
    });
    await kit.push('mail', 'Invoice', 'Bill', 'Letter', 'Greeting', 'Greeting');
    await kit.push('well', 'Invoice');
    await kit.store.push('well', [{ payload: JSON.stringify({ job: 'Illuminate\\Queue\\CallQueuedHandler@call' }) }]);
    await kit.store.push('later', [{ payload: JSON.stringify({ id: 'a', job: 'Letter' }), delay: 60 }]);

    const { of } = await check('--require=jobs.js');

    expect(of('connection memory, queue')).toEqual([
      {
        level: 'warning',
        subject: 'connection memory, queue mail',
        message: expect.stringMatching(
          /^Looked at 5 waiting jobs; no class here for 3 of them: Greeting, Letter\. .*--require.*aliases: \['Greeting'\]/,
        ) as string,
      },
      {
        level: 'warning',
        subject: 'connection memory, queue later',
        message: expect.stringMatching(/^Looked at 1 waiting job; no class here for 1 of them: Letter\. /) as string,
      },
    ]);
  });

  it('warns about a second copy of a package that must exist only once', async () => {
    kit.project.write({
      'node_modules/tsyringe/package.json': '{ "name": "tsyringe", "version": "4.0.0", "main": "index.js" }',
      'node_modules/tsyringe/index.js': '',
    });

    const { of } = await check();

    expect(of('tsyringe')).toMatchObject([
      { level: 'ok' },
      { level: 'warning', message: expect.stringContaining('another copy, 4.0.0') as string },
    ]);
  });

  it.each([
    ['20.19.0', 'ok'],
    ['22.0.0', 'ok'],
    ['20.18.3', 'error'],
    ['18.20.0', 'error'],
  ])('reports Node.js %s as %s', (version, level) => {
    expect(diagnoseNode(version)).toMatchObject({ level });
  });
});
