/** Output on a terminal of 60 columns: complete, and in lines that fit unless they are sentences. */
import { visibleWidth } from '../../src/cli/output';
import { CommandKit } from './kit/command-kit';
import { COMMAND_NAMES } from './kit/command-names';

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit();
  kit.columns = 60;
});

afterEach(() => kit.close());

describe('on a terminal of 60 columns', () => {
  it.each(['', ...COMMAND_NAMES])('the help of %j fits', async (command) => {
    const { stdout } = await kit.run(...(command === '' ? ['--help'] : [command, '--help']));
    const wide = stdout.split('\n').filter((line) => visibleWidth(line) > 60);
    // Command lines are not wrapped, so that they can be copied.
    expect(wide.filter((line) => !/^ {2}(?:onqueue |eval )/.test(line))).toEqual([]);
  });

  it('the help has its usual width without a terminal', async () => {
    kit.columns = undefined;
    const { stdout } = await kit.run('retry', '--help');
    expect(stdout).toMatch(/^ {2}onqueue retry all {37}all failed jobs$/m);
    expect(stdout).toMatch(/^ {2}2 {4}the command line was not understood; nothing was done$/m);
  });

  it('check cuts off none of its findings', async () => {
    const { stdout } = await kit.run('check');
    expect(stdout).toContain('connection memory\n  Jobs are lost when the process ends.\n');
    expect(stdout).not.toContain('…');
  });

  it('size shows all counts, and until when a queue is paused', async () => {
    await kit.push('newsletters-of-customers', 'SendMail');
    expect((await kit.run('size')).stdout).toMatch(/^queue +ready .*\n.*\nnewsletters-of-customers {6}1 +0 +0 +0\n$/);
    await kit.run('pause', '--queue=newsletters-of-customers', '--for=10m');

    const { stdout } = await kit.run('size');
    expect(stdout).toMatch(
      /^default\n {2}ready 0, delayed 0, reserved 0, failed 0\nnewsletters-of-customers\n {2}ready 1, delayed 0, reserved 0, failed 0\n {2}until \d{4}-\S+Z\n$/,
    );
  });

  it.each([[['failed']], [['retry', 'all', '--dry-run']], [['batches']], [['size']], [['check']]])(
    '%j prints no colours or other control sequences from data',
    async (line) => {
      await kit.fail('0193a6c1-0000-7000-8000-000000000000', {
        name: 'Mail\u001b[31m',
        exception: 'Error: \u001b]0;owned\u0007',
      });
      const { stdout, stderr } = await kit.run(...line);
      // What the program itself colours is neither a name nor an error.
      // oxlint-disable-next-line no-control-regex
      expect((stdout + stderr).replaceAll(/\u001b\[3[123]m(\w+)\u001b\[39m/g, '$1')).not.toMatch(/[^\P{Cc}\n]/u);
    },
  );
});
