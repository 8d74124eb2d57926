import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandKit } from './kit/command-kit';
import { COMMAND_NAMES } from './kit/command-names';

describe('the command line', () => {
  let kit: CommandKit;

  beforeEach(() => {
    kit = new CommandKit();
  });

  afterEach(() => kit.close());

  it('suggests the nearest command for a mistyped one', async () => {
    const { stdout, stderr, code } = await kit.run('wrok');

    expect(stderr).toContain("unknown command 'wrok'");
    expect(stderr).toContain('Did you mean work?');
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it.each([
    ['work', '--tires=3', '--tries'],
    ['listen', '--backof=3', '--backoff'],
    ['failed', '--qeue=3', '--queue'],
    ['clear', '--forse', '--force'],
  ])('suggests the nearest flag of %s for %s', async (command, flag, meant) => {
    const { stderr, code } = await kit.run(command, flag);

    expect(stderr).toContain(`Did you mean ${meant}?`);
    expect(code).toBe(2);
  });

  it('suggests the nearest flag even if the mistyped one has a value', async () => {
    const { stderr } = await kit.run('work', '--quue=mail');

    expect(stderr).toBe("error: unknown option '--quue=mail'\nDid you mean --queue?\nSee onqueue help work.\n");
  });

  it('suggests a flag for its first letters', async () => {
    expect((await kit.run('work', '--que=mail')).stderr).toContain('Did you mean --queue?');
  });

  it('says where the connection belongs if work gets --connection', async () => {
    const { stderr, code } = await kit.run('work', '--connection=redis');

    expect(stderr).toContain("unknown option '--connection=redis'\nWrite it without the flag: onqueue work redis\n");
    expect((await kit.run('listen', '--connection', 'redis')).stderr).toContain('onqueue listen <connection>\n');
    expect(code).toBe(2);
  });

  it('does not answer help for an unknown command as if it existed', async () => {
    const { stdout, stderr, code } = await kit.run('help', 'wrok');

    expect(stdout).toBe('');
    expect(stderr).toBe("error: unknown command 'wrok'\nDid you mean work?\nSee onqueue help.\n");
    expect(code).toBe(2);
  });

  it('shows the same help for both ways to ask for it', async () => {
    const { stdout, code } = await kit.run('help', 'work');

    expect({ stdout, code }).toEqual({ stdout: (await kit.run('work', '--help')).stdout, code: 0 });
    expect((await kit.run('help')).stdout).toBe((await kit.run('--help')).stdout);
  });

  it('says why listen has no --concurrency', async () => {
    const { stderr, code } = await kit.run('listen', '--concurrency=2');

    expect(stderr).toContain('onqueue listen runs one job at a time');
    expect(code).toBe(2);
    expect((await kit.run('listen', '--help')).stdout).not.toContain('--concurrency');
  });

  it.each([
    [['work', '--tries=many'], 'work'],
    [['classes', 'a'], 'classes'],
    [['prune'], 'prune'],
  ])('refers to the help of the command after %j', async (line, command) => {
    expect((await kit.run(...line)).stderr).toMatch(new RegExp(`^See onqueue help ${command}\\.$`, 'm'));
  });

  it.each([
    [['work', 'memory', 'other'], 'too many arguments'],
    [['work', '--tries'], "option '--tries <count>' argument missing"],
    [['work', '--tries=many'], "--tries: 'many' is not valid"],
    [['work', '--queue=a b'], 'not a valid queue name'],
    [['work', '--queue=a,a'], 'name each queue once'],
    [['work', 'memroy', '--no-supervisor'], "Did you mean 'memory'?"],
    [['size', '--require=jobs/*.js'], "--require: nothing matches 'jobs/*.js'"],
    [['size', '--require=./'], "--require: nothing matches './' in"],
    [['size', '--require=./'], 'It is a folder; name its files'],
    [['work', '--backoff=10m..1s', '--no-supervisor'], "max in --backoff: '1s' is not valid"],
    [['queue:work'], 'Did you mean work?'],
    [['queue:listen'], 'Did you mean listen?'],
    [['queue:restart'], 'Did you mean restart?'],
    [['queue:pause'], 'Did you mean pause?'],
    [['queue:continue'], 'Did you mean resume?'],
    [['queue:resume'], 'Did you mean resume?'],
    [['queue:monitor'], 'Did you mean monitor?'],
    [['queue:clear'], 'Did you mean clear?'],
    [['queue:failed'], 'Did you mean failed?'],
    [['queue:retry', 'all'], 'Did you mean retry?'],
    [['queue:forget'], 'Did you mean forget?'],
    [['queue:flush'], 'Did you mean flush?'],
    [['queue:prune-failed', '--hours=48'], 'Did you mean prune --older-than=1d?'],
    [['queue:prune-batches'], 'Did you mean prune --batches=1d?'],
    [['queue:retry-batch', '1'], 'Did you mean batch:retry <id>?'],
    [['queue:table'], 'Did you mean migrate?'],
    [['make:queue-failed-table'], 'Did you mean migrate?'],
    [['schedule:work'], 'Did you mean work? Each worker also keeps the schedules that its process declares.'],
    [['horizon:terminate'], 'Did you mean restart?'],
    [['help', 'queue:table'], 'Did you mean migrate?'],
    [['help', 'wrok'], 'Did you mean work?'],
    [['size', '--require=no-such-package'], "--require: nothing matches 'no-such-package'"],
  ])('ends with 2 for %j', async (line, message) => {
    const { stderr, code } = await kit.run(...line);

    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it('lists its commands and ends with 2 if none is given', async () => {
    const { stderr, code } = await kit.run();

    for (const command of COMMAND_NAMES) expect(stderr).toMatch(new RegExp(`^  ${command}[ |]`, 'm'));
    expect(code).toBe(2);
  });

  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8')) as { version: string };

    expect(await kit.run('--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  it.each(COMMAND_NAMES)('explains %s with examples and exit codes', async (command) => {
    const { stdout, stderr, code } = await kit.run(command, '--help');

    expect(stdout).toContain(`Usage: onqueue ${command}`);
    expect(stdout).toMatch(new RegExp(`^Examples:\\n  onqueue ${command}`, 'm'));
    expect(stdout).toContain('Exit codes:');
    expect(stdout.includes('used more memory than --memory')).toBe(['work', 'listen'].includes(command));
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  it.each(COMMAND_NAMES)('has a section on %s in docs/cli.md', (command) => {
    const page = readFileSync(join(__dirname, '../../docs/cli.md'), 'utf8');

    expect(page).toMatch(new RegExp(`^## ${command}$`, 'm'));
  });

  it('hides internal flags and old names', async () => {
    const { stdout } = await kit.run('work', '--help');

    for (const flag of ['--fresh', '--process-number', '--opened']) expect(stdout).not.toContain(flag);
    expect(stdout).not.toContain('--delay');
  });
});
