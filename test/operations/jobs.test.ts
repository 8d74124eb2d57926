import { Job } from '../../src/job/job';
import { replaceDefaultManager } from '../../src/application/default-manager';
import { Queue } from '../../src/application/queue';
import type { JobPage, ListOptions } from '../../src/operations/found-job';
import { hostileTexts } from '../support/hostile-texts';
import { watchedApplication } from '../support/watched-application';
import { reserveFrom } from '../support/exchange';

@Job()
class Render extends Job {
  constructor(readonly film: number) {
    super();
  }
}

function given() {
  const app = watchedApplication({
    default: 'main',
    connections: {
      main: { driver: 'memory', queue: 'usual' },
      other: { driver: 'memory' },
      nowhere: { driver: 'null' },
    },
  });
  replaceDefaultManager(app.manager);
  return { ...app, main: app.manager.connection('main') };
}

const films = ({ jobs }: JobPage): unknown[] =>
  jobs.map(({ payload }) => (payload as { data: { command: Render } }).data.command.film);

/** All pages, in order. */
async function pages(queue: string, options: ListOptions): Promise<JobPage[]> {
  const found: JobPage[] = [];
  do {
    found.push(await Queue.jobs(queue, { ...options, after: found.at(-1)?.next }));
  } while (found.at(-1)!.next !== undefined);
  return found;
}

afterEach(async () => {
  await Queue.close();
});

describe('listing the jobs of a queue', () => {
  it("shows ready jobs in the order they will run, by default from the connection's own queue", async () => {
    const { main } = given();
    const ids = await main.bulk([new Render(1), new Render(2)]);
    await main.push(new Render(3), 'elsewhere');

    const { jobs } = await Queue.jobs();

    expect(jobs).toMatchObject([
      { id: ids[0], name: 'Render', connection: 'main', queue: 'usual', state: 'ready', attempts: 0 },
      { id: ids[1] },
    ]);
    expect(films(await Queue.jobs('elsewhere'))).toEqual([3]);
    expect(await Queue.jobs('never')).toEqual({ jobs: [], next: undefined });
  });

  it('goes on page by page, and ends', async () => {
    const { main } = given();
    await main.bulk(Array.from({ length: 7 }, (_, film) => new Render(film)));

    const found = await pages('usual', { limit: 3 });

    expect(found.map(films)).toEqual([[0, 1, 2], [3, 4, 5], [6], []]);
  });

  it('shows when delayed jobs become ready and when the leases of running jobs end', async () => {
    const { main, manager, clock } = given();
    await main.push(new Render(1));
    await main.later('1h', new Render(2));
    await reserveFrom(manager.driver('main'), { queues: ['usual'], limit: 1, lease: 30 });

    const [running] = (await main.jobs('usual', { state: 'running' })).jobs;
    const [delayed] = (await main.jobs('usual', { state: 'delayed' })).jobs;

    expect(running).toMatchObject({ state: 'running', attempts: 1, at: new Date(clock.now() + 30_000) });
    expect(delayed).toMatchObject({ state: 'delayed', attempts: 0, at: new Date(clock.now() + 3_600_000) });
  });

  it('shows failed jobs, newest first, page by page, including those it keeps for other connections', async () => {
    const { main, manager, clock } = given();
    const { failed } = manager.driver('main');
    for (const id of ['1', '2', '3']) {
      const payload = Buffer.from(`{"job":"Mail","data":null,"id":"${id}","attempts":2}`);
      const entry = { id, name: 'Mail', queue: 'usual', attempts: 2, payload, exception: `Error: ${id}\n    at mail` };
      await failed!.put({ ...entry, connection: id === '2' ? 'nowhere' : 'main' });
      await clock.advance('1s');
    }

    const [first, second] = await pages('usual', { state: 'failed', limit: 2 });

    expect(first!.jobs.map(({ id, error }) => [id, error])).toEqual([
      ['3', 'Error: 3'],
      ['2', 'Error: 2'],
    ]);
    expect(second!.jobs).toMatchObject([{ id: '1', state: 'failed', failedAt: new Date(clock.now() - 3000) }]);
    expect((await manager.connection('nowhere').jobs('usual', { state: 'failed' })).jobs).toMatchObject([{ id: '2' }]);
    expect((await main.jobs('other', { state: 'failed' })).jobs).toEqual([]);
  });

  it('shows payloads that no worker could read, without hiding the others', async () => {
    const { manager } = given();
    const texts = hostileTexts(14, 50).map((text) => ({ payload: text.toString() }));
    await manager.driver('main').push('usual', [...texts, { payload: '{"job":"Mail","data":null,"id":"7"}' }]);

    const { jobs } = await Queue.jobs();

    expect(jobs).toHaveLength(51);
    expect(jobs.at(-1)).toMatchObject({ id: '7', name: 'Mail' });
    expect(JSON.stringify(jobs)).toContain('(unreadable)');
  });

  it.each([
    [{ state: 'reserved' }, "state 'reserved'. Give one of ready, delayed, running, failed, completed."],
    [{ limit: 0 }, 'limit 0. Give a whole number from 1 to 100.'],
    [{ limit: 101 }, 'limit 101.'],
    [{ limit: '5' }, "limit '5'."],
    [{ after: 'delayed:1' }, "after 'delayed:1'. Give the unchanged `next` of a page of ready jobs of 'usual'."],
    [{ after: 'ready:' }, "after 'ready:'."],
    [{ after: 7 }, 'after 7.'],
    [{ state: 'failed', after: 'failed:-1' }, "after 'failed:-1'."],
  ])('refuses %j', async (options, message) => {
    given();

    await expect(Queue.jobs('usual', options as ListOptions)).rejects.toMatchObject({
      code: 'E_INVALID_LISTING',
      message: expect.stringContaining(message) as string,
    });
  });

  it('refuses the position of another queue or state, and a changed one', async () => {
    const { main } = given();
    await main.bulk([new Render(1), new Render(2)]);
    const { next } = await Queue.jobs('usual', { limit: 1 });

    expect((await Queue.jobs('usual', { after: next })).jobs).toHaveLength(1);
    for (const [queue, options] of [
      ['other', { after: next }],
      ['usual', { after: next, state: 'delayed' }],
      ['usual', { after: next!.replace('1', '2') }],
    ] as [string, ListOptions][])
      await expect(Queue.jobs(queue, options)).rejects.toMatchObject({ code: 'E_INVALID_LISTING' });
  });

  it('refuses an invalid queue name and a driver that cannot list jobs', async () => {
    const { manager } = given();

    await expect(Queue.jobs('a,b')).rejects.toMatchObject({ code: 'E_INVALID_QUEUE_NAME' });
    Object.assign(manager.driver().queues, { peek: undefined });
    await expect(Queue.jobs()).rejects.toMatchObject({ code: 'E_CAPABILITY' });
  });
});
