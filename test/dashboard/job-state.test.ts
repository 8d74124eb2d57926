import { Worker } from '../../src/worker/worker';
import { testApplication } from '../support/application';
import { type Served, served } from './kit/served';
import { NotifyTeam } from './kit/shop-jobs';
import { reserveFrom } from '../support/exchange';

const advised = async (panel: Served, id: string): Promise<string> => (await panel.get(`job?id=${id}`)).text;

describe('the advice on the page of a job', () => {
  it('says how long completed jobs are kept, or that they are not kept', async () => {
    for (const history of [{ completed: false }, false] as const) {
      await using without = await served(testApplication({ history }).manager);
      expect(await advised(without, 'gone')).toMatch(
        /Most likely it has completed: completed jobs leave no trace, because <code>history<\/code>/,
      );
    }
    await using panel = await served(testApplication({ history: { completed: '90m' } }).manager);

    expect(await advised(panel, 'gone')).toMatch(
      /only kept as long as <code>history: \{ completed: &quot;90m&quot; \}<\/code>/,
    );
  });

  it('says that a worker has just taken the job, until the worker should have reported it', async () => {
    const application = testApplication();
    const { manager, clock } = application;
    const id = await application.manager.connection().push(new NotifyTeam('ops', 'here'));
    await reserveFrom(manager.driver(), { queues: ['default'], limit: 1, lease: 30 });
    await using panel = await served(manager);

    expect(await advised(panel, id)).toContain('A worker has just taken it, or renewed its lease.');
    await clock.advance('8s');
    expect(await advised(panel, id)).toContain('No worker reports that it runs it');
  });

  it('does not wait for reports of workers if they report nothing', async () => {
    const application = testApplication({ metrics: false });
    const id = await application.manager.connection().push(new NotifyTeam('ops', 'here'));
    await reserveFrom(application.manager.driver(), { queues: ['default'], limit: 1, lease: 30 });
    await using panel = await served(application.manager);

    expect(await advised(panel, id)).toMatch(
      /Which worker runs it is unknown, because no records of workers are kept\. If/,
    );
  });

  it('says that a cancelled job does not run again, and that its data is gone', async () => {
    const application = testApplication();
    const { manager, clock } = application;
    const id = await application.manager.connection().push(new NotifyTeam('ops', 'here'));
    const [reservation] = (await reserveFrom(manager.driver(), { queues: ['default'], limit: 1, lease: 30 }))
      .reservations;
    await manager.connection().cancel(id, { reason: 'nobody wants it' });
    await manager
      .driver()
      .exchange([{ outcome: 'released', reservation: reservation!, counters: reservation!.counters, delay: 0 }]);
    const running = new Worker({ drain: true }, manager).run();
    await clock.advance('1m');
    await running;
    await using panel = await served(manager);

    const text = await advised(panel, id);

    expect(text).toMatch(/It was cancelled[^]*It does not run again, and its data are gone/);
    expect(text).not.toContain('<h2>Data');
    const { text: page } = await panel.get(`job?id=${id}`);
    expect(page).toContain('<h1>NotifyTeam</h1>');
    expect(page).toMatch(/<dt>Queue<\/dt><dd><a [^>]*><bdi>default<\/bdi>/);
  });
});
