import { Job } from '../../src/job/job';
import { putWorker, type WorkerReport } from '../../src/operations/worker-record';
import { Worker } from '../../src/worker/worker';
import { Gate, testApplication } from '../support/application';
import { served } from './kit/served';

const gate = { current: new Gate() };

@Job()
class Render extends Job {
  handle(): Promise<void> {
    return gate.current.opened;
  }
}

describe('the workers page', () => {
  it('shows each worker and what it runs, with links to the jobs', async () => {
    const { manager, clock } = testApplication();
    gate.current = new Gate();
    const id = await manager.connection().push(new Render(), 'films');
    const worker = new Worker({ queue: 'films,mails', concurrency: 3 }, manager);
    const running = worker.run();
    await clock.advance('1s');
    await using panel = await served(manager);

    const { text } = await panel.get('workers');

    expect(text).toContain('1 worker');
    expect(text).toContain('1 of 3');
    expect(text).toContain('<a href="running">1 job runs</a>');
    expect((await panel.get('running')).text).toContain(`href="job?connection=memory&amp;queue=films&amp;id=${id}"`);
    expect(await panel.json('workers')).toMatchObject([{ queues: ['films', 'mails'], busy: 1, running: [{ id }] }]);
    gate.current.open();
    await worker.stop();
    await running;
  });

  it('marks a silent worker, and escapes its names', async () => {
    const { manager, clock } = testApplication();
    await putWorker(manager.operationsOf(manager.driver())!.records, {
      ...REPORT,
      host: '<img src=x>',
      at: clock.now() - 30_000,
    });
    await using panel = await served(manager);

    const { text } = await panel.get('workers');

    expect(text).toContain('silent for 30 s');
    expect(text).toContain('&lt;img src=x&gt;');
    expect(text).not.toContain('<img src=x');
  });

  it('says how to start a worker if there is none', async () => {
    await using panel = await served(testApplication().manager);

    expect((await panel.get('workers')).text).toContain('npx onqueue work');
  });

  it('says why it knows of no workers if they report nothing', async () => {
    await using panel = await served(testApplication({ metrics: false }).manager);

    expect((await panel.get('workers')).text).toContain('metrics: false');
  });
});

const REPORT: WorkerReport = {
  id: 'one',
  host: 'host',
  pid: 7,
  version: '0.1.0',
  connection: 'memory',
  queues: ['mails'],
  concurrency: 1,
  state: 'running',
  at: 0,
  since: 0,
  lag: 0,
  paused: [],
  outcomes: { completed: 1, released: 0, failed: 0, cancelled: 0, lost: 0 },
  busy: 0,
  running: [],
};
