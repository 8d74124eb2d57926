import { Job } from '../../src/job/job';
import { testApplication } from '../support/application';
import { served } from './kit/served';

@Job()
class Render extends Job {
  async handle(): Promise<void> {
    await Promise.resolve();
  }
}

describe('the dashboard', () => {
  it('shows the queues to people, and the same to programs', async () => {
    const { manager } = testApplication();
    await manager.connection().push(new Render(), 'films&more');
    await using panel = await served(manager);

    const { status, text } = await panel.get('');

    expect(status).toBe(200);
    expect(text).toContain('<bdi>films&amp;more</bdi>');
    expect(await panel.json('')).toMatchObject([
      { connection: 'memory', queues: [{ queue: 'default' }, { queue: 'films&more', ready: 1 }] },
    ]);
  });

  it('leads to its first page where the slash at the end is missing, as all its addresses are relative', async () => {
    await using panel = await served(testApplication().manager, { path: '/jobs' });

    const { status, headers } = await panel.get('');

    expect([status, headers.get('location')]).toEqual([303, 'jobs/']);
  });

  it('pauses a queue, logs who did it, and offers to take it back', async () => {
    const { manager, log } = testApplication();
    await using panel = await served(manager);

    const paused = await panel.post('pause-queue', { connection: 'memory', queue: 'mail', back: 'workers' });

    expect(await manager.connection().pausedQueues()).toEqual(['mail']);
    expect([paused.status, paused.headers.get('location')]).toEqual([303, 'workers']);
    expect(log.messages('info')).toEqual([expect.stringMatching(/^Dashboard, Ada: mail is paused/)]);
    const [cookie = ''] = paused.headers.getSetCookie();
    const next = await panel.get('', { cookie: cookie.split(';', 1)[0]! });
    expect(next.text).toMatch(/mail is paused: .*<form method="post" action="resume-queue"/s);
    expect(next.headers.get('set-cookie')).toContain('Max-Age=0');
  });

  it('lets nobody act who may only look, and shows them no buttons', async () => {
    const { manager } = testApplication();
    await using panel = await served(manager, { viewer: 'viewer' });

    const { status } = await panel.post('pause-queue', { connection: 'memory', queue: 'mail' });

    expect(status).toBe(403);
    expect(await manager.connection().pausedQueues()).toEqual([]);
    expect((await panel.get('')).text).not.toContain('<form method="post"');
  });
});
