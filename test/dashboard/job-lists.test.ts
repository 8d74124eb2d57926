import { putWorker } from '../../src/operations/worker-record';
import { SendInvoice } from './kit/shop-jobs';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { testApplication } from '../support/application';
import { reserveFrom } from '../support/exchange';
import { eventually } from '../support/eventually';
import { served, type Served } from './kit/served';
import { openWorld, type World } from './kit/world';

let world: World;
let panel: Served;

beforeAll(async () => {
  world = await openWorld();
  panel = await served(world.manager);
});

afterAll(async () => {
  await panel[Symbol.asyncDispose]();
  await world.close();
});

@Job({ queue: 'flaky', tries: 5, backoff: '10m' })
class Flaky extends Job {
  handle(): void {
    throw new Error('The bank is closed');
  }
}

describe('the lists of jobs over all queues', () => {
  it('says of running jobs for how long they run, where, and how far they are', async () => {
    const { text } = await panel.get('running');

    expect(text).toMatch(/<h1>Running jobs<\/h1>/);
    expect(text).toMatch(new RegExp(`id=${world.ids.running}"><bdi>ImportCatalogue.*35 % <bdi class="soft">`, 's'));
    expect(text).toMatch(/<td class="number" data-label="For">\d+ min/);
    expect(text).toContain('<span class="badge bad"');
    expect((await panel.get('running?name=SyncCustomer')).text).toMatch(/>1 job runs</);
    expect((await panel.get('running?worker=nobody')).text).toContain('No worker reports such a job.');
  });

  it('says how many jobs are reserved though no worker reports any', async () => {
    const app = testApplication();
    await app.manager.connection().bulk([new Flaky(), new Flaky()]);
    await reserveFrom(app.manager.driver(), { queues: ['flaky'], limit: 2, lease: 60 });
    await using alone = await served(app.manager);
    const { text } = await alone.get('running');
    expect(text).toContain('No worker reports a running job.');
    expect(text).toContain('>2 jobs are reserved, which no worker reports');
  });

  it('lists a job once that another worker has taken over from a process that died', async () => {
    const { records } = world.manager.operationsOf(world.manager.driver())!;
    const at = world.manager.clock.now();
    const job = { id: 'taken-over', name: 'ResizeImage', queue: 'media', attempt: 1 };
    const report = {
      ...{
        version: '0.1.0',
        connection: world.connection,
        queues: ['media'],
        concurrency: 1,
        state: 'running' as const,
      },
      ...{
        lag: 0,
        paused: [],
        outcomes: { completed: 0, released: 0, failed: 0, cancelled: 0, lost: 0 },
        busy: 1,
        since: 0,
      },
    } as const;
    await putWorker(records, {
      ...report,
      id: 'dead',
      host: 'dead',
      pid: 1,
      at: at - 50_000,
      running: [{ ...job, since: at - 90_000 }],
    });
    await putWorker(records, {
      ...report,
      id: 'alive',
      host: 'alive',
      pid: 2,
      at,
      running: [{ ...job, since: at - 1000 }],
    });
    await world.advance('3s');

    const { text } = await panel.get('running?name=ResizeImage');

    expect(text.match(/id=taken-over/g)).toHaveLength(1);
    expect(text).toContain('<bdi>alive</bdi>:2');
  });

  it('tells jobs that were sent for later from those that are tried again, these with their last error', async () => {
    const id = await world.manager.connection().push(new Flaky());
    await new Worker({ queue: 'flaky', stopWhenEmpty: true }, world.manager).run();
    await world.advance('6s');
    const isTold = async () => (await world.manager.connection().find(id!)).history.length > 0;
    await eventually(isTold, { of: 'its history' });

    const retrying = (await panel.get('retrying')).text;
    expect(retrying).toContain(`id=${id}"`);
    expect(retrying).toMatch(/The bank is closed/);
    expect(retrying).not.toContain(`id=${world.ids.delayed}"`);
    const scheduled = (await panel.get('scheduled')).text;
    expect(scheduled).toContain(`id=${world.ids.delayed}"`);
    expect(scheduled).not.toContain(`id=${id}"`);
    expect((await panel.get('scheduled?text=no-such-text')).text).toContain('No such job was sent for a later moment.');
    expect((await panel.get('retrying?queue=mail')).text).toContain('No such job waits for its next try.');
  });

  it('runs and cancels those that are ticked, after a question where it cannot be undone', async () => {
    const { manager, bus } = testApplication();
    await using own = await served(manager);
    const connection = manager.connection();
    const ids: string[] = [];
    for (const place of [1, 2, 3]) {
      const job = new SendInvoice(place, { name: 'Ada', email: 'ada@example.org' }, new Date(0));
      const id = await bus.dispatch(job).delay('1h');
      ids.push(id!);
    }
    const ticked = (...places: readonly number[]) => {
      const form = new URLSearchParams({ back: 'scheduled' });
      for (const place of places) form.append('job', JSON.stringify(['memory', 'mail', ids[place]]));
      return form;
    };

    await own.post('promote-jobs', ticked(0));
    expect(await connection.find(ids[0]!)).toMatchObject({ state: 'ready' });
    const asked = await own.post('cancel-jobs', ticked(1, 2));
    expect(asked.text).toContain('Cancel these jobs?');
    expect(await connection.find(ids[1]!)).toMatchObject({ state: 'delayed' });
    const confirmed = ticked(1, 2);
    confirmed.append('confirmed', 'yes');
    await own.post('cancel-jobs', confirmed);
    expect(await connection.find(ids[1]!)).toMatchObject({ state: 'unknown' });
    await own.post('cancel-jobs', new URLSearchParams({ all: 'yes', confirmed: 'yes', back: 'scheduled' }));
    expect(await connection.find(ids[0]!)).toMatchObject({ state: 'ready' });
  });
});
