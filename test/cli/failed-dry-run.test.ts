/** What the commands for failed jobs print with `--dry-run`, which changes nothing. */
import { CommandKit } from './kit/command-kit';

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit();
});

afterEach(() => kit.close());

describe('--dry-run', () => {
  beforeEach(async () => {
    await kit.fail('1', { queue: 'mail', name: 'Other' });
    await kit.fail('2', { queue: 'mail' });
    await kit.fail('3');
  });

  it.each([
    [
      ['retry', '--queue=mail'],
      ['2', '1'],
    ],
    [
      ['retry', 'all'],
      ['3', '2', '1'],
    ],
    [['retry', '--range=2'], ['2']],
    [
      ['retry', '--queue=mail', '--range=1-5'],
      ['2', '1'],
    ],
    [
      ['forget', '--name=SendMail'],
      ['3', '2'],
    ],
    [['retry', '1', '1', 'x'], ['1']],
    [['forget', '--error=no such text'], []],
    [['flush'], ['3', '2', '1']],
    [
      ['flush', '--queue=mail', '--hours=0'],
      ['2', '1'],
    ],
    [['flush', '--hours=1'], []],
  ])('of %j lists the selected jobs, and does nothing', async (line, ids) => {
    const { stdout, code } = await kit.run(...line, '--dry-run');

    expect(stdout).toMatch(new RegExp(`(^|\\n)Without --dry-run, ${ids.length} failed jobs? would be affected\\.\\n$`));
    const found = JSON.parse((await kit.run(...line, '--dry-run', '--json')).stdout) as { items: { id: string }[] };
    expect(found).toMatchObject({ dryRun: true, count: ids.length, unknown: line.includes('x') ? ['x'] : [] });
    expect(found.items.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(code).toBe(line.includes('x') ? 1 : 0);
    expect(await kit.store.failed.count()).toBe(3);
  });

  it('of flush does not ask, because nothing is done', async () => {
    kit.environment = { NODE_ENV: 'production' };

    expect(await kit.run('flush', '--dry-run')).toMatchObject({ code: 0 });
    expect(await kit.store.failed.count()).toBe(3);
  });

  it.each([
    ['--keep=1', '--name=SendMail'],
    ['--keep=1', '--name=SendMail', '--older-than=1h'],
    ['--keep=2'],
    ['--keep=0', '--queue=mail'],
    ['--keep=9'],
    ['--older-than=0', '--keep=5'],
    ['--older-than=1h'],
  ])('of prune says how many jobs %s %s %s would remove', async (...line) => {
    const told = JSON.parse((await kit.run('prune', ...line, '--dry-run', '--json')).stdout) as object;
    expect(await kit.store.failed.count()).toBe(3);

    const done = JSON.parse((await kit.run('prune', ...line, '--json')).stdout) as object;

    expect(told).toEqual({ dryRun: true, ...done });
  });

  it('counts all jobs but lists only the newest', async () => {
    for (let each = 4; each <= 230; each += 1) await kit.fail(String(each), { name: 'Other' });

    const { stdout, stderr } = await kit.run('retry', '--name=Other', '--dry-run');

    expect(stdout).toContain('Without --dry-run, 228 failed jobs would be affected.\n');
    expect(stdout.match(/Other/g)).toHaveLength(100);
    expect(stderr).toContain('Only the first 100 are listed.');
  });
});
