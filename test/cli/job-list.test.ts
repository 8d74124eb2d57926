/** What commands print about the destinations of jobs. */
import { builtInConnectors, Job, QueueManager, silentLogger } from '../../src/index';
import { listedJobs } from '../../src/cli/commands/classes';
import { strangeQueuesRemark } from '../../src/worker/queues';

@Job({ queue: 'mail' })
class Notify extends Job {}

@Job()
class Report extends Job {}

const manager = new QueueManager(
  { connectors: builtInConnectors, logger: silentLogger },
  { default: 'main', connections: { main: { driver: 'memory' }, other: { driver: 'memory' } }, jobs: [Notify, Report] },
);

it('a job is listed with the route that the application gave it', () => {
  manager.routes.set(Report, { connection: 'other', queue: 'slow' });

  const report = listedJobs(manager).find(({ name }) => name === 'Report');

  expect(report).toMatchObject({ connection: 'other', queue: 'slow' });
});

it('a worker on a connection without jobs is told where they go', () => {
  manager.routes.set(Report, { connection: 'main', queue: 'slow' });

  const remark = strangeQueuesRemark(
    manager,
    { connection: 'other', queues: ['mail'] },
    (connection, queues) => `${connection}: ${queues.join()}`,
  );

  expect(remark).toContain("goes to mail of the connection 'other' on its own; they go to mail, slow of 'main'.");
  expect(remark).toMatch(/To work on those: main: mail,slow$/);
});
