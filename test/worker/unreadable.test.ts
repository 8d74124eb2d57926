import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { testApplication, type TestApplication } from '../support/application';

let application: TestApplication;

beforeEach(() => {
  application = testApplication();
});

afterEach(() => application.manager.close());

describe('the log of a worker about an unreadable payload', () => {
  it('has the same id as the failed job', async () => {
    await application.manager.connection().pushRaw('{"job":5}');

    await new Worker({ stopWhenEmpty: true }, application.manager).run();

    const [entry] = await application.manager.failed.list();
    expect(entry?.name).toBe('(unreadable)');
    expect(application.log.lines).toContainEqual(
      expect.objectContaining({ facts: expect.objectContaining({ id: entry?.id, outcome: 'failed' }) as object }),
    );
  });

  it('says once that data cannot be decoded, and failed() is not called', async () => {
    let heard = 0;
    @Job()
    class Hears extends Job {
      handle(): void {}
      failed(): void {
        heard += 1;
      }
    }
    const payload = { job: 'onqueue', data: { commandName: Hears.name, command: {}, types: { '': 'Bogus' } } };
    await application.manager.connection().pushRaw(JSON.stringify(payload));

    await new Worker({ stopWhenEmpty: true }, application.manager).run();

    expect(application.log.messages('error')).toEqual([
      expect.stringContaining("Hears failed: This payload cannot be read: /data/command: there is no type 'Bogus'"),
    ]);
    expect(heard).toBe(0);
  });
});
