/** The commands for schedules: `schedule:list`, `schedule:run`, `schedule:pause`, `schedule:resume`, `schedule:test`. */
import '../../src/composition';
import { QueueManager } from '../../src/application/queue-manager';
import { systemClock } from '../../src/base/clock';
import { Job } from '../../src/job/job';
import { RecordingLogger } from '../support/application';
import { eventually } from '../support/eventually';
import { CommandKit } from './kit/command-kit';
import { reserveFrom } from '../support/exchange';

@Job({ schedule: { cron: '30 2 * * *', timezone: 'Europe/Amsterdam', name: 'prune' } })
class Prune extends Job {
  handle(): void {}
}

let kit: CommandKit;
let manager: QueueManager;

beforeEach(() => {
  kit = new CommandKit();
  manager = new QueueManager(
    { connectors: kit.connectors, clock: systemClock, logger: new RecordingLogger() },
    { connections: { memory: { driver: 'memory' } } },
  );
});

afterEach(async () => {
  await manager.close();
  await kit.close();
});

const parsed = async (...line: readonly string[]): Promise<unknown> =>
  JSON.parse((await kit.run(...line, '--json')).stdout);

/** Acts like a worker that declares a schedule with this name. */
async function kept(name: string): Promise<() => Promise<void>> {
  if (name !== 'prune') {
    manager
      .schedule(() => new Prune())
      .daily()
      .name(name);
  }
  const stop = manager.schedules.keep();
  await eventually(async () => (await manager.schedules.list()).some((one) => one.name === name && one.isKept));
  return stop;
}

describe('schedule:list', () => {
  it('shows when each schedule is due, and warns if no worker keeps it', async () => {
    const { stdout, stderr, code } = await kit.run('schedule:list');

    expect(stdout).toMatch(
      /^schedule +when +next +last +state\nprune +30 2 \* \* \* \(Europe\/Amsterdam\) +\d{4}-.* UTC +never yet +no worker sends it\n$/,
    );
    expect(stderr).toContain('No running worker sends prune. Start one');
    expect(code).toBe(0);
  });

  it('does not warn if a worker keeps it', async () => {
    const stop = await kept('prune');

    const { stdout, stderr } = await kit.run('schedule:list');
    expect(stdout).toMatch(/never yet +active\n$/);
    expect(stderr).not.toContain('No running worker');
    await stop();
  });

  it('shows schedules that other programs keep, and orphans', async () => {
    const stop = await kept('report');
    expect((await kit.run('schedule:list')).stdout).toMatch(
      /^report +0 0 \* \* \* \(UTC\): Prune.* +– +never yet +active$/m,
    );
    await stop();
    expect((await kit.run('schedule:list')).stdout).toMatch(/^report .* orphan: no longer declared$/m);
  });

  it('prints separate lines for each schedule on a terminal of 58 columns, without cutting anything', async () => {
    kit.columns = 58;
    const { stdout } = await kit.run('schedule:list');

    expect(stdout).toMatch(
      /^prune\n {2}30 2 \* \* \* \(Europe\/Amsterdam\), in [\dhms ]+, never yet\n {2}no worker sends it\n$/,
    );
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(58);
  });

  it('prints everything as one JSON document', async () => {
    expect(await parsed('schedule:list')).toEqual({
      items: [
        {
          name: 'prune',
          spec: expect.stringContaining('30 2 * * *') as unknown,
          job: 'Prune',
          cadence: '30 2 * * * (Europe/Amsterdam)',
          timezone: 'Europe/Amsterdam',
          missed: { policy: 'latest', within: 3600 },
          origin: expect.stringContaining('@Job() on Prune') as unknown,
          next: expect.stringMatching(/T0[01]:30:00.000Z$/) as unknown,
          skipped: 0,
          kept: false,
          orphan: false,
        },
      ],
    });
  });
});

describe('schedule:run', () => {
  it('sends the job at once, and prints its id', async () => {
    const { id } = (await parsed('schedule:run', 'prune')) as { id: string };

    const { reservations } = await reserveFrom(kit.store, { queues: ['default'], limit: 1, lease: 60 });
    expect(JSON.parse(reservations[0]!.payload.toString())).toMatchObject({ id, occurrence: { schedule: 'prune' } });
    expect((await kit.run('schedule:run', 'prune')).stdout).toMatch(/^Sent the job of prune: [\da-f-]{36}\n$/);
  });
});

describe('schedule:pause and schedule:resume', () => {
  it('stop and resume a schedule for all processes that keep it', async () => {
    expect((await kit.run('schedule:pause', 'prune')).stdout).toBe('Paused prune.\n');
    expect((await kit.run('schedule:pause', 'prune')).stdout).toBe('prune was already paused.\n');
    expect((await kit.run('schedule:list')).stdout).toMatch(/ – +never yet +paused 0s ago, no worker sends it$/m);

    expect(await parsed('schedule:resume', 'prune')).toEqual({ schedule: 'prune', paused: false, changed: true });
    expect((await kit.run('schedule:resume', 'prune')).stdout).toBe('prune was not paused.\n');
    expect(await parsed('schedule:pause', 'prune')).toEqual({ schedule: 'prune', paused: true, changed: true });
    expect((await kit.run('schedule:resume', 'prune')).stdout).toBe('Resumed prune.\n');
  });
});

describe('schedule:remove', () => {
  it('removes what was stored, lists it until then, and refuses the rest', async () => {
    await manager.schedules.put('report:42', { cron: '0 8 * * *' }, new Prune());
    expect(await parsed('schedule:list')).toMatchObject({
      items: [{ name: 'prune' }, { name: 'report:42', origin: 'stored' }],
    });
    expect((await kit.run('schedule:list')).stdout).toMatch(/^report:42 \(stored\) +0 8 \* \* \* \(UTC\) +\d{4}-/m);

    expect((await kit.run('schedule:remove', 'report:42')).stdout).toBe('Removed report:42.\n');
    expect(await kit.run('schedule:remove', 'report:42')).toMatchObject({ code: 2 });
    expect((await kit.run('schedule:remove', 'prune')).stderr).toContain('E_SCHEDULE_DECLARED');
  });
});

describe('schedule:test', () => {
  it('shows when a schedule is due, and marks days of clock changes', async () => {
    const { stdout, code } = await kit.run('schedule:test', 'prune', '--from=2027-03-27', '--count=3');

    expect(stdout).toBe(
      [
        'prune: 30 2 * * * (Europe/Amsterdam)',
        'in Europe/Amsterdam  in UTC',
        '2027-03-27 02:30     2027-03-27 01:30:00 UTC',
        '2027-03-28 03:00     2027-03-28 01:00:00 UTC  clocks change',
        '2027-03-29 02:30     2027-03-29 00:30:00 UTC',
        '',
      ].join('\n'),
    );
    expect(code).toBe(0);
  });

  it('shows the times only once if the schedule is in UTC', async () => {
    kit.project.write({
      'onqueue.config.js': [
        "const { Job } = require('onqueue');",
        "Job({ schedule: { cron: '0 4 * * *', name: 'clean' } })(class Clean extends Job { handle() {} });",
        "module.exports = { connections: { memory: { driver: 'memory' } } };",
      ].join('\n'),
    });
    const { stdout } = await kit.run('schedule:test', 'clean', '--from=2027-03-27', '--count=1');

    expect(stdout).toBe('clean: 0 4 * * * (UTC)\nin UTC\n2027-03-27 04:00:00 UTC\n');
  });

  it.each([
    ['--from=2027-03-27T01:30', '2027-03-28T01:00:00.000Z'],
    ['--from=2027-03-27T01:30:00+01:00', '2027-03-27T01:30:00.000Z'],
    ['--from=2027-03-27 01:29', '2027-03-27T01:30:00.000Z'],
  ])('understands %s, in UTC unless it says otherwise', async (from, first) => {
    expect(await parsed('schedule:test', 'prune', from, '--count=1')).toMatchObject({
      ...{ schedule: 'prune', timezone: 'Europe/Amsterdam' },
      occurrences: [{ at: first }],
    });
  });

  it('shows five occurrences by default', async () => {
    expect(((await parsed('schedule:test', 'prune')) as { occurrences: object[] }).occurrences).toHaveLength(5);
  });

  it.each([
    ['--from=2027-02-31', "--from: '2027-02-31' is not valid. Give a day or a moment"],
    ['--from=tomorrow', "--from: 'tomorrow' is not valid."],
    ['--from=2027-03-27T25:00', "--from: '2027-03-27T25:00' is not valid."],
    ['--count=0', "--count: '0' is not valid. Give a whole number from 1 to 1000."],
    ['--count=1001', "--count: '1001' is not valid."],
  ])('refuses %s', async (flag, message) => {
    const { stdout, stderr, code } = await kit.run('schedule:test', 'prune', flag);
    expect([stdout, code]).toEqual(['', 2]);
    expect(stderr).toContain(message);
  });
});

it.each(['run', 'pause', 'resume', 'test'])('schedule:%s suggests the schedule that was meant', async (command) => {
  const { stdout, stderr, code } = await kit.run(`schedule:${command}`, 'prnue');
  expect([stdout, code]).toEqual(['', 2]);
  expect(stderr).toContain("No schedule 'prnue' is declared here; did you mean 'prune'?");
});
