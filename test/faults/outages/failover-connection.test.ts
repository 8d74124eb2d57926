import { join } from 'node:path';
import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors } from '../../../src/connections/built-in';
import { Job } from '../../../src/job/job';
import { QueueManager } from '../../../src/application/queue-manager';
import { Worker } from '../../../src/worker/worker';
import { RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { Project } from '../../support/project';
import { startRedisServer } from '../../support/redis-server';
import { meantToPass } from '../../support/meant-to-pass';

const ran: string[] = [];
const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

@Job()
class Carry extends Job {
  constructor(readonly what: string) {
    super();
  }
  handle(): void {
    ran.push(`${this.what} from ${this.job.connectionName}`);
  }
}

it('dispatches go to SQLite while Redis is dead, and each job runs where it was queued', async () => {
  const project = new Project();
  const redis = await startRedisServer();
  ends.push(() => project.remove(), redis.stop);
  const log = new RecordingLogger();
  const manager = new QueueManager(
    { connectors: builtInConnectors, logger: log },
    {
      default: 'both',
      connections: {
        redis: { driver: 'redis', url: redis.url, deadline: meantToPass('500ms') },
        database: { driver: 'database', url: `sqlite:${join(project.folder, 'jobs.sqlite')}` },
        both: { driver: 'failover', connections: ['redis', 'database'] },
      },
    },
  );
  ends.push(() => manager.close());
  const bus = new JobBus(() => manager);
  const sizeOf = (name: string) => manager.connection(name).size();
  await bus.dispatch(new Carry('before'));

  await new Worker({ stopWhenEmpty: true }, manager).run();
  await redis.stop();
  await bus.dispatch(new Carry('meanwhile'));
  await bus.bulk([new Carry('many'), new Carry('of them')]);
  expect(await sizeOf('database')).toBe(3);

  const again = await startRedisServer({ port: redis.port });
  ends.push(again.stop);
  await eventually(async () => {
    await bus.dispatch(new Carry('after'));
    return (await sizeOf('redis')) > 0;
  });
  for (const connection of ['both', 'database']) await new Worker({ connection, stopWhenEmpty: true }, manager).run();

  expect(ran).toEqual(expect.arrayContaining(['before from both', 'after from both', 'meanwhile from database']));
  const said = log.lines.map(({ message }) => message).filter((message) => message.includes("jobs of 'both'"));
  expect(said).toEqual([
    expect.stringMatching(/^'redis' takes no jobs of 'both'/),
    "'redis' takes jobs of 'both' again.",
  ]);
});
