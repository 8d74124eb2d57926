import { Queue, Worker } from '../../src/index';
import { TemporaryDatabase } from '../connections/sql/open-database';
import { Child } from '../support/child-process';
import { CarriesRow, entities } from './entities-killed';

it('a process that is killed while it loads entities costs its job a crash and no try', async () => {
  const database = new TemporaryDatabase();
  Queue.configure({
    connections: { main: { driver: 'database', url: `sqlite:${database.file}`, retryAfter: 60 } },
    entities: [entities(async (ids) => ids.map((id) => ({ id, isThere: true })))],
  });
  const recovered: unknown[] = [];
  Queue.recovered(({ crashes, job }) => recovered.push([crashes, job.attempts]));
  await CarriesRow.dispatch();
  const child = new Child(require.resolve('./entities-program'), database.file);
  await child.said(1);
  await child.kill();
  await new Worker({ maxJobs: 1 }).run();
  expect(recovered).toEqual([[1, 1]]);
  expect(await Queue.failed.list()).toEqual([]);
  expect(await Queue.size()).toBe(0);
  await Queue.close();
  await database.dispose();
});
