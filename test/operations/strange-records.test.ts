/** Anyone may write to a store, so reading strange records must not fail. */
import { Job } from '../../src/job/job';
import { testApplication, type TestApplication } from '../support/application';

let application: TestApplication;

@Job()
class Render extends Job {
  handle(): void {}
}

beforeEach(() => {
  application = testApplication();
});

afterEach(() => application.manager.close());

describe.each(['', 'null', '[]', '5', '{}', '{"kind":"failed"}', '{"attempts":5}', '{"running":[null]}'])(
  'a strange record %j',
  (value) => {
    it('hides no job, result, worker or queue', async () => {
      const { manager, bus } = application;
      const id = await bus.dispatch(new Render());
      const kinds = ['history', 'completed', 'progress', 'results'].map((kind) => ({ kind, id, value }));
      await manager.driver().records!.put([...kinds, { kind: 'workers', id: 'somebody', value }], 60);

      const connection = manager.connection();
      expect(await connection.find(id)).toMatchObject({ state: 'ready', history: [], progress: undefined });
      expect(await connection.workers()).toEqual([]);
      await connection.clear();
      expect((await connection.find(id)).history).toEqual([]);
      expect(await connection.result(id, { within: 0 })).toBeUndefined();
    });

    it('is not shown as the name of a class with figures', async () => {
      const { manager, clock } = application;
      const day = Math.floor(clock.now() / 86_400_000);
      const sums = [{ name: `figures/classes/${day}`, amounts: { [value]: 1 }, keep: 60 }];
      await manager.driver().records!.add(sums, 'somebody', 1);

      expect(await manager.connection().figures()).toMatchObject({ queues: [] });
    });
  },
);
