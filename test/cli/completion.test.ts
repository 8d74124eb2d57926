/** The scripts that `completion` prints for shells, and its answers to them; also in real shells if installed. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { BIN } from './kit/child-command';
import { CommandKit, itemsIn } from './kit/command-kit';
import { COMMAND_NAMES } from './kit/command-names';

const ROOT = join(__dirname, '../..');
const HOSTILE = '$(touch$IFS$9owned)';
/** Names that must never be executed, and harmless ones. */
const CONFIG = `module.exports = {
  default: 'redis',
  connections: {
    redis: { driver: 'memory', queue: '${HOSTILE}' },
    'a;touch$IFS$9owned': { driver: 'memory' },
    main: { driver: 'database', url: 'sqlite:./made.sqlite', queue: 'mail' },
  },
};`;
/** Some tools print while they are loaded. */
const NOISY = `console.log('[dotenv] injecting env');\n${CONFIG}`;
const jobs = (name: string): string => `const { Job } = require('onqueue');
Job({ queue: 'high' })(class ${name} extends Job { handle() {} });`;

const isHere = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0;

describe('completing the last word of a line', () => {
  let kit: CommandKit;

  beforeEach(() => {
    kit = new CommandKit({
      'onqueue.config.js': CONFIG,
      'mail.js': jobs('SendMail'),
      'tidy.js': jobs('TidyUp'),
      'sub/other.js': '',
    });
  });

  afterEach(() => kit.close());

  const words = async (line: string): Promise<readonly string[]> => {
    const { stdout, stderr, code } = await kit.run('completion', 'bash', `--line=${line}`);
    expect([stderr, code]).toEqual(['', 0]);
    return stdout.split('\n').flatMap((answer) => (answer.startsWith('+') ? [answer.slice(1).split('\t')[0]!] : []));
  };

  it.each([
    ['onqueue re', ['restart', 'resume', 'result', 'reschedule', 'retry', 'recount']],
    ['onqueue batch:', ['batch:cancel', 'batch:retry']],
    ['  onqueue help fl', ['flush']],
    ['onqueue completion ', ['bash', 'zsh', 'fish']],
    ['onqueue --v', ['--version']],
    ['onqueue retry --dry', ['--dry-run']],
    ['onqueue retry --qu', ['--queue=']],
    ['onqueue work --no-su', ['--no-supervisor']],
    ['onqueue continue --q', ['--queue=']],
    ['onqueue work --log=', ['--log=json', '--log=text']],
    ['onqueue work --log t', ['text']],
    ['onqueue wrok ', []],
    ['onqueue work --wrong=', []],
    ['onqueue size --config=onq', ['--config=onqueue.config.js']],
    ['onqueue size --config su', ['sub/']],
    ['onqueue size --require=sub/', ['--require=sub/other.js']],
    ['onqueue size --require=nowhere/', []],
    ['onqueue retry 0193', []],
  ])("completes '%s'", async (line, expected) => {
    expect(await words(line)).toEqual(expected);
  });

  it.each([
    ['onqueue work ', ['redis', 'main']],
    ['onqueue work m', ['main']],
    ['onqueue work main m', []],
    ['onqueue work --tries 3 m', ['main']],
    ['onqueue retry --connection=r', ['--connection=redis']],
    ['onqueue work --queue=', ['--queue=mail', '--queue=default']],
    ['onqueue clear --queue=high,m', ['--queue=high,mail']],
    ['onqueue pause --queue m', ['mail']],
    ['onqueue retry --name=', []],
    ['onqueue retry --require ./mail.js --name=S', ['--name=SendMail']],
    ['onqueue retry --require=./tidy.js --queue=h', ['--queue=high']],
  ])("completes '%s' from the project, without names that a shell could execute", async (line, expected) => {
    expect((await words(line)).toSorted()).toEqual(expected.toSorted());
  });

  it.each(COMMAND_NAMES)('offers all flags of %s', async (name) => {
    const { stdout } = await kit.run('help', name);
    const shown = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag);
    expect((await words(`onqueue ${name} -`)).map((word) => word.replace('=', ''))).toEqual(shown);
  });

  it('offers nothing, without an error, if the project cannot be loaded', async () => {
    kit.project.write({ 'onqueue.config.js': "throw new Error('broken')" });
    expect(await words('onqueue work --queue=')).toEqual([]);
    expect(await words('onqueue work --config=nowhere.js --queue=')).toEqual([]);
  });

  it('does not open a store, so it creates no database file', async () => {
    await words('onqueue work --queue=');
    expect(existsSync(join(kit.project.folder, 'made.sqlite'))).toBe(false);
  });

  it('is available as JSON, with an explanation of each word', async () => {
    const { stdout } = await kit.run('completion', 'zsh', '--line=onqueue pru', '--json');
    expect(itemsIn(stdout)).toEqual([{ word: 'prune', about: 'remove old failed jobs and old batches for good' }]);
  });
});

describe('completion', () => {
  const kit = new CommandKit();
  afterAll(() => kit.close());

  it.each(['bash', 'zsh', 'fish'])('prints the script for %s as it is in the package', async (shell) => {
    const script = readFileSync(join(ROOT, `completions/onqueue.${shell}`), 'utf8');
    expect((await kit.run('completion', shell)).stdout).toBe(script);
    expect(JSON.parse((await kit.run('completion', shell, '--json')).stdout)).toEqual({ shell, script });
  });

  it('names the supported shells if another one is asked for', async () => {
    const { stderr, code } = await kit.run('completion', 'tcsh');
    expect(stderr).toContain("there are scripts for bash, zsh, fish, but none for 'tcsh'.");
    expect(code).toBe(2);
  });

  it.each(['bash', 'zsh', 'fish'].filter(isHere))('prints a script that %s can parse', (shell) => {
    expect(spawnSync(shell, ['-n', join(ROOT, `completions/onqueue.${shell}`)])).toMatchObject({ status: 0 });
  });
});

describe('bash', () => {
  const kit = new CommandKit({ 'onqueue.config.js': NOISY });
  const { folder } = kit.project;
  const register = join(ROOT, 'test/support/register-typescript.cjs');
  kit.project.write({
    'bin/onqueue': `#!/bin/sh\nexec '${process.execPath}' --require '${register}' '${BIN}' "$@"\n`,
  });
  execFileSync('chmod', ['+x', join(folder, 'bin/onqueue')]);
  const script = `eval "$(cat '${join(ROOT, 'completions/onqueue.bash')}')"
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
COMP_LINE=$1 COMP_POINT=\${#1}
_onqueue onqueue
printf '%s\\n' "\${COMPREPLY[@]}"`;

  afterAll(() => kit.close());

  const replies = (line: string, path = join(folder, 'bin')): readonly string[] => {
    const { JEST_WORKER_ID: _worker, NODE_ENV: _mode, ...environment } = process.env;
    const env = { ...environment, PATH: `${path}${delimiter}${process.env['PATH']}` };
    const printed = execFileSync('bash', ['-c', script, 'bash', line], { cwd: folder, env, encoding: 'utf8' });
    return printed.split('\n').filter((word) => word !== '');
  };

  it('gets only what follows the last = or :, because bash replaces only that part', () => {
    expect(replies('onqueue batch:c')).toEqual(['cancel']);
    expect(replies('onqueue work --log=j')).toEqual(['json']);
    expect(replies('onqueue prun')).toEqual(['prune']);
  });

  it('gets no name that it could execute, and executes none', () => {
    expect(replies('onqueue work --queue=').toSorted()).toEqual(['default', 'mail']);
    expect(replies('onqueue work ').toSorted()).toEqual(['main', 'redis']);
    expect(replies(`onqueue work --queue=${HOSTILE} --queue=m`)).toEqual(['mail']);
    expect(existsSync(join(folder, 'owned'))).toBe(false);
  });

  it('gets nothing and prints nothing if the program does not exist', () => {
    expect(replies('onqueue re', '/nonexistent')).toEqual([]);
  });
});
