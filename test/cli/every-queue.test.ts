/** `work --queue='*'`: the queues of all registered jobs. */
import { builtInConnectors } from '../../src/connections/built-in';
import { CommandKit } from './kit/command-kit';
import { Job } from '../../src/job/job';

const ran: string[] = [];

@Job({ name: 'Everywhere.High', queue: 'high' })
class High extends Job {
  handle(): void {
    ran.push('high');
  }
}

@Job({ name: 'Everywhere.Own' })
class Own extends Job {
  handle(): void {
    ran.push('own');
  }
}

@Job({ name: 'Everywhere.Away', connection: 'other', queue: 'away' })
class Away extends Job {
  handle(): void {}
}
void [High, Own, Away];

let kit: CommandKit;

beforeEach(() => {
  ran.length = 0;
  kit = new CommandKit({
    'onqueue.config.js': `module.exports = { default: 'memory', connections: {
      memory: { driver: 'memory' }, other: { driver: 'memory' }, idle: { driver: 'memory' },
    } };`,
  });
});
afterEach(() => kit.close());

it('works on the queues of the jobs that go to the connection, and says which these are', async () => {
  await kit.push('default', 'Everywhere.Own');
  await kit.push('high', 'Everywhere.High');

  const { stderr, code } = await kit.work('--queue=*', '--stop-when-empty', '--log=text');

  expect(code).toBe(0);
  expect(stderr).toMatch(/^Queues +default, high \(those of all registered jobs\)$/m);
  expect(ran.toSorted()).toEqual(['high', 'own']);
  kit.connectors = builtInConnectors;
  const other = await kit.work('other', '--queue=*', '--stop-when-empty', '--log=json');
  expect(other.stderr).toContain('Queues: away (those of all registered jobs).');
});

it.each([
  [['--queue=high,*'], 'high, default'],
  [['--queue=*,late'], 'default, high, late'],
  [['--queue=high:3,*', '--fair'], 'high, default'],
])('adds those that are not named by %p', async (flags, queues) => {
  const { stderr } = await kit.work(...flags, '--stop-when-empty', '--log=text');

  expect(stderr).toContain(`${queues} (those of all registered jobs)\n`);
});

it('refuses a connection to which no registered job goes, and says where they go', async () => {
  kit.connectors = builtInConnectors;
  const { stderr, code } = await kit.work('idle', '--queue=*', '--stop-when-empty');

  expect(stderr).toContain("No registered job goes to the connection 'idle'. They go elsewhere: onqueue work ");
  expect(stderr).toContain("onqueue work other --queue='*'");
  expect(code).toBe(2);
});
