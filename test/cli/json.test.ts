/** With `--json`, every command prints one document and nothing else, on a terminal or in a pipe. */
import '../../src/composition';
import { QueueManager } from '../../src/application/queue-manager';
import { systemClock } from '../../src/base/clock';
import { silentLogger } from '../../src/base/logger';
import { Job } from '../../src/job/job';
import { CommandKit } from './kit/command-kit';
import { COMMAND_NAMES } from './kit/command-names';

@Job({ schedule: { cron: '0 3 * * *', name: 'prune' } })
class Prune extends Job {
  handle(): void {}
}
void Prune;

const ID = '0193a6c1-0000-7000-8000-000000000000';

/** Command lines to try, by command. Commands that run until stopped have their own tests. */
const LINES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  batch: [[ID]],
  'batch:cancel': [[ID]],
  'batch:retry': [[ID]],
  batches: [[]],
  cancel: [[ID], ['x', 'y']],
  check: [[]],
  encryption: [[]],
  classes: [[]],
  clear: [['--queue=a,b']],
  completion: [['bash'], ['bash', '--line=onqueue']],
  failed: [[], [ID], ['x'], ['--name=None']],
  flush: [[], ['--hours=1'], ['--dry-run']],
  forget: [[ID, 'x'], [ID, '--dry-run'], ['--name=None']],
  inspect: [[ID], ['x']],
  jobs: [[], ['default', '--state=failed']],
  lanes: [[]],
  limit: [['--running=5'], ['--queue=a,b', '--none'], []],
  'make:job': [['SendMail']],
  metrics: [[]],
  migrate: [[], ['--print']],
  monitor: [[]],
  pause: [[], ['--queue=mail', '--for=10m']],
  prune: [['--keep=0'], ['--batches'], ['--keep=0', '--batches', '--dry-run']],
  promote: [[ID], ['x', 'y']],
  recount: [[], ['--dry-run']],
  reschedule: [[ID, '2h']],
  restart: [[]],
  result: [[ID], ['x']],
  resume: [[], ['--all']],
  retry: [['all'], [ID, 'x'], ['--error=refused', '--dry-run'], ['--range=1-5']],
  'schedule:list': [[]],
  'schedule:pause': [['prune']],
  'schedule:remove': [['stored']],
  'schedule:resume': [['prune']],
  'schedule:run': [['prune']],
  'schedule:test': [['prune']],
  size: [[]],
  workers: [[]],
};

let kit: CommandKit;

beforeEach(async () => {
  kit = new CommandKit();
  await kit.fail(ID);
  await kit.push('default', 'SendMail');
  const manager = new QueueManager(
    { connectors: kit.connectors, clock: systemClock, logger: silentLogger },
    { connections: { memory: { driver: 'memory' } } },
  );
  await manager.schedules.put('stored', { cron: '0 8 * * *' }, new Prune());
  await manager.close();
});

afterEach(() => kit.close());

it('every command is tried here except those that run until stopped, and the one that needs a new project', () => {
  const others = ['work', 'listen', 'dashboard', 'tail', 'init'];
  expect(COMMAND_NAMES.filter((name) => !others.includes(name)).toSorted()).toEqual(Object.keys(LINES).toSorted());
});

describe.each(Object.entries(LINES).flatMap(([name, lines]) => lines.map((line) => [[name, ...line].join(' ')])))(
  'onqueue %s',
  (line) => {
    it.each([
      ['in a pipe', undefined],
      ['on a terminal of 60 columns', 60],
    ])('prints one document %s', async (_, columns) => {
      kit.columns = columns;
      const [name = '', ...rest] = line.split(' ');
      const { stdout, stderr, code } = await kit.run(name, ...rest, '--json');
      // For an unknown id there is nothing to print.
      const isMissing = stdout === '' && code === 1 && stderr.includes('There is no ');
      expect(isMissing || typeof JSON.parse(stdout) === 'object').toBe(true);
      expect(stderr).not.toContain('\u001b');
      expect(code).toBeLessThan(2);
    });
  },
);
