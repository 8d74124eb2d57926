/** What `init` and `make:job` refuse. What they write is run by `test/package/new-project.test.ts`. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { CommandKit } from './kit/command-kit';

let kit: CommandKit;
beforeEach(() => {
  kit = new CommandKit({ 'src/jobs/send-welcome.js': 'mine' });
});
afterEach(() => kit.close());

it('init lists what it has written, also where no terminal is', async () => {
  for (const file of ['onqueue.config.js', 'src']) rmSync(join(kit.project.folder, file), { recursive: true });
  const { stdout, code } = await kit.run('init');

  expect([stdout.split('\n').slice(0, 7), code]).toEqual([
    [
      'Wrote:',
      '  onqueue.config.js',
      '  src/jobs/send-welcome.js',
      '  src/dispatch.js',
      "  package.json: the script 'dispatch'",
      "  package.json: the script 'worker'",
      'Next:',
    ],
    0,
  ]);
});

it('they overwrite nothing, and then write nothing else either', async () => {
  expect((await kit.run('init')).stderr).toContain('onqueue.config.js is there already, so nothing was written.');
  rmSync(join(kit.project.folder, 'onqueue.config.js'));
  for (const line of [['init'], ['make:job', 'SendWelcome']]) {
    const { stderr, code } = await kit.run(...line);
    expect(stderr).toContain('src/jobs/send-welcome.js is there already, so nothing was written.');
    expect(code).toBe(1);
  }
  expect(
    ['src/jobs/send-welcome.js', 'onqueue.config.js', 'package.json'].map((file) => kit.project.read(file)),
  ).toEqual(['mine', '', '{}']);
});

it.each([
  ['../Escape', ', such as Escape.'],
  ['send-mail.ts', ', such as SendMail.'],
  ['9Lives', 'a capital letter.'],
])('make:job refuses the name %s', async (name, remedy) => {
  const { stderr, code } = await kit.run('make:job', name);
  expect(stderr).toContain(`make:job: '${name}' is not valid. Give the name of a class`);
  expect(stderr).toContain(remedy);
  expect(code).toBe(2);
});

it.each([
  ['with NODE_ENV=production', { NODE_ENV: 'production' }, []],
  ['without a supervisor', {}, ['--no-supervisor']],
])('work --watch is refused %s', async (_, environment, line) => {
  kit.environment = environment;
  const { stderr, code } = await kit.run('work', '--watch', ...line);
  expect(stderr).toContain("--watch: 'true' is not valid.");
  expect(code).toBe(2);
});
