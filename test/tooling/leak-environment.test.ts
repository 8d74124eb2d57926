import { join } from 'node:path';
import { Project, root } from '../support/project';

const jestProgram = join(root, 'node_modules/jest/bin/jest.js');

/** One file for each thing that a test can leave open, and one that closes what it opened. */
const FILES = {
  'timer.test.js': `it('arms a timer', () => { setTimeout(() => undefined, 60_000); });`,
  'interval.test.js': `it('arms an interval', () => { setInterval(() => undefined, 60_000); });`,
  'server.test.js': `it('listens', () => { require('node:net').createServer().listen(0, '127.0.0.1'); });`,
  'process.test.js': `it('starts a process', () => { require('node:child_process').spawn('sleep', ['20'], { stdio: 'ignore' }); });`,
  'clean.test.js': `
    const server = require('node:net').createServer();
    beforeAll((done) => { server.listen(0, '127.0.0.1', done); });
    afterAll((done) => { server.close(done); });
    it('closes what it opened', () => { setTimeout(() => undefined, 60_000).unref(); clearTimeout(setTimeout(() => undefined, 60_000)); });
  `,
};

describe('the test environment', () => {
  const project = new Project();
  afterAll(() => project.remove());

  it('fails a file that leaves something open, reports it, and lets the run end', async () => {
    for (const [path, text] of Object.entries(FILES)) project.write(path, text);
    const config = {
      rootDir: project.folder,
      testEnvironment: join(root, 'test/support/leak-environment.ts'),
      transform: {
        '\\.ts$': [
          join(root, 'node_modules/@swc/jest'),
          { swcrc: false, jsc: { parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
        ],
      },
    };
    const { code, stderr } = await project.run([
      jestProgram,
      '--ci',
      '--maxWorkers',
      // One for each file, because the environment waits before it reports leftovers.
      String(Object.keys(FILES).length),
      '--config',
      JSON.stringify(config),
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain('PASS ./clean.test.js');
    const left = [...stderr.matchAll(/FAIL \.\/(\w+)\.test\.js\n[^]*?left open: (.*)\. Close/g)].map(
      ([, file, what]) => [file, what],
    );
    expect(new Map(left as [string, string][])).toEqual(
      new Map([
        ['timer', 'a timer'],
        ['interval', 'a timer'],
        ['server', expect.stringMatching(/^server on .*127\.0\.0\.1/)],
        ['process', expect.stringMatching(/^process \d+ \(sleep 20\)/)],
      ]),
    );
  });
});
