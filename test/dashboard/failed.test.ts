import { Gate } from '../support/application';
import { NotifyTeam } from './kit/shop-jobs';
import { addManyJobs } from './kit/many-jobs';
import { type Served, served } from './kit/served';
import { openWorld, QUEUES, type World } from './kit/world';

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

interface Group {
  readonly name: string;
  readonly error: string;
  readonly count: number;
}

interface FailedData {
  readonly total: number;
  readonly lookedAt: number;
  readonly isCut: boolean;
  readonly groups: readonly Group[];
  readonly jobs: readonly { readonly id: string; readonly connection: string; readonly queue: string }[];
}

const data = async (page: string) => (await panel.json(page)) as FailedData;
const unescaped = (text: string) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"');
const noticeOf = async (answer: { readonly headers: Headers }) => {
  const cookie = answer.headers.getSetCookie()[0]!.split(';', 1)[0]!;
  return (await panel.get('', { cookie })).text;
};
const sizeOf = (queue: string) => world.manager.connection().size(queue);

describe('the failed jobs page', () => {
  it('groups similar failures, the largest group first', async () => {
    const { groups, total } = await data('failed');

    expect(groups.slice(0, 2)).toEqual([
      expect.objectContaining({ name: 'SendInvoice', error: 'MailRefused: 550', count: 15, queues: ['mail'] }),
      expect.objectContaining({ name: 'SyncCustomer', count: 11 }),
    ]);
    expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(total);
  });

  it('tells all about one group: its newest stack with lines of source, when it failed, its queues, workers and causes', async () => {
    const { groups } = await data('failed?name=SyncCustomer');
    const away = groups.find(({ error }) => error.includes('did not answer'))!;
    const { text } = await panel.get(`failed?name=SyncCustomer&group=${encodeURIComponent(away.error)}`);
    const [, part = ''] = /<section id="failed-groups"[^>]*>(.*?)<\/section>/s.exec(text) ?? [];

    expect(part).toContain(away.error);
    expect(part).toMatch(/<dt>Caused by<\/dt><dd><bdi>[^<]*ECONNREFUSED/);
    expect(part).toMatch(/<dt>Workers of the newest \d+<\/dt><dd>.*<bdi>[\w-]+:\d+/);
    expect(part).toContain('id="group-chart"');
    expect(part).toMatch(/<span class="marked">&gt; +\d+ .*throw new/);
    expect(part).toMatch(/<div class="stack".*shop-jobs\.ts.*<summary>… \d+ frames? of libraries<\/summary>/s);
    expect(part).not.toContain('By error');
  });

  it('links each group to all its jobs and no others', async () => {
    const { text } = await panel.get('failed');
    const links = [...text.matchAll(/<td class="line message"[^>]*><a href="(failed\?[^"]*)"/g)].map(([, link]) =>
      unescaped(link!),
    );
    const { groups } = await data('failed');

    expect(links).toHaveLength(groups.length);
    for (const [place, link] of links.entries()) expect((await data(link)).groups).toEqual([groups[place]]);
  });

  it('can be filtered by queue, class, text and age', async () => {
    expect((await data('failed?queue=media')).jobs).toHaveLength(10);
    expect((await data('failed?name=ChargeCard&error=declined')).jobs).toHaveLength(9);
    expect((await data('failed?error=nothing+says+this')).jobs).toHaveLength(0);
    const { jobs: all } = await data('failed?olderThan=1h');
    expect(all.length).toBeGreaterThan(0);
    expect(all.length).toBeLessThan(50);
    expect((await data('failed?connection=elsewhere')).jobs).toHaveLength(0);
  });

  it('contains no payloads as JSON, and escapes markup', async () => {
    const [page, json] = [
      (await panel.get('failed')).text,
      (await panel.get('failed', { accept: 'application/json' })).text,
    ];

    expect(page).not.toMatch(/<(script>|img src=x)/i);
    expect(page).toContain(`&lt;img`);
    expect(json).not.toContain('"payload"');
    expect((await panel.get(`failed?queue=${encodeURIComponent(QUEUES.strange)}`)).text).toContain(
      '<strong>1 failed job',
    );
  });

  it('says what is wrong with an invalid age', async () => {
    const { status, text } = await panel.get('failed?olderThan=soon');

    expect(status).toBe(422);
    expect(text).toContain('E_INVALID_DURATION');
  });

  it('is paged by a thousand jobs, each of which appears once, also if some are forgotten meanwhile', async () => {
    await addManyJobs(world.manager, 'crowd', { failed: 1200 });
    const first = await panel.get('failed?queue=crowd');
    expect(first.text).toContain('Searched the newest 1,000 of 1,200.');

    const seen: string[] = [];
    for (let next: string | undefined = 'failed?queue=crowd'; next !== undefined;) {
      seen.push(...(await data(next)).jobs.map(({ id }) => id));
      const { text } = await panel.get(next);
      const [, link] = /<a href="([^"]*)" rel="next"/.exec(text) ?? [];
      next = link === undefined ? undefined : unescaped(link);
      await world.manager.failed.forget(seen.at(-1)!);
    }

    expect((await data('failed?queue=crowd&from=-1')).jobs.map(({ id }) => id)).toContain(seen[0]);
    expect(seen).toHaveLength(1200);
    expect(new Set(seen).size).toBe(1200);
    await world.manager.failed.flush('crowd');
  });

  it('ends a search early if jobs are large', async () => {
    const driver = world.manager.driver();
    const text = 'x'.repeat(600_000);
    for (let place = 0; place < 22; place += 1) {
      await driver.failed!.put({
        id: `large-${place}`,
        name: 'Large',
        connection: world.connection,
        queue: 'large',
        payload: Buffer.from(JSON.stringify({ text })),
        exception: 'Error: too large',
        attempts: 1,
      });
    }

    const { lookedAt, isCut } = await data('failed?queue=large');

    expect(lookedAt).toBe(20);
    expect(isCut).toBe(true);
    await world.manager.failed.flush('large');
  });

  it('shows a viewer neither checkboxes nor buttons', async () => {
    await using plain = await served(world.manager, { viewer: 'viewer' });
    const { text } = await plain.get('failed');

    expect(text).toContain('SendInvoice');
    expect(text).not.toMatch(/type="checkbox"|method="post"/);
  });
});

describe('actions on failed jobs', () => {
  const ticked = (jobs: FailedData['jobs']) =>
    new URLSearchParams([
      ...jobs.map(({ connection, queue, id }): [string, string] => ['job', JSON.stringify([connection, queue, id])]),
      ['back', 'failed'],
    ]);

  it('retry the selected jobs at once, and say how many', async () => {
    const { jobs } = await data('failed?queue=imports&name=ImportCatalogue');
    const before = await sizeOf('imports');

    const text = await noticeOf(await panel.post('retry-failed', ticked(jobs.slice(0, 2))));

    expect(text).toContain('2 failed jobs go back to their queues.');
    expect(await sizeOf('imports')).toBe(before + 2);
    const again = await noticeOf(await panel.post('retry-failed', ticked(jobs.slice(0, 3))));
    expect(again).toContain('1 failed job goes back to its queue. 2 jobs were already gone.');
  });

  it('forget the selected jobs only after a confirmation, and log who did it', async () => {
    const { jobs } = await data('failed?queue=payments');
    const form = ticked(jobs.slice(0, 2));
    const asked = await panel.post('forget-failed', form);
    expect(asked.text).toContain('Forget these failed jobs?');
    expect((await data('failed?queue=payments')).total).toBe(jobs.length);

    const fields = [...asked.text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
    const text = await noticeOf(
      await panel.post(
        'forget-failed',
        new URLSearchParams(fields.map(([, name, value]): [string, string] => [name!, unescaped(value!)])),
      ),
    );

    expect(text).toContain('2 failed jobs are forgotten.');
    expect((await data('failed?queue=payments')).total).toBe(jobs.length - 2);
    expect(world.log.messages('info').at(-1)).toContain('Dashboard, Ada: 2 failed jobs are forgotten.');
    expect(world.log.lines.at(-1)?.facts).toMatchObject({
      by: 'Ada',
      job: jobs.slice(0, 2).map(({ connection, queue, id }) => JSON.stringify([connection, queue, id])),
    });
  });

  it('retry all matching jobs after a confirmation that names the filter, including those not shown', async () => {
    await addManyJobs(world.manager, 'crowd', { failed: 1200 });
    const form = { all: 'yes', queue: 'crowd', error: 'Mailbox full', back: 'failed' };
    const asked = await panel.post('retry-failed', form);
    expect(asked.text).toContain('<strong>1,200 failed jobs</strong>');
    expect(asked.text).toContain('of the queue crowd, with “Mailbox full” in their error');
    expect(await sizeOf('crowd')).toBe(0);

    const text = await noticeOf(await panel.post('retry-failed', { ...form, confirmed: 'yes' }));

    expect(text).toContain('1,200 failed jobs go back to their queues.');
    expect(await sizeOf('crowd')).toBe(1200);
  });

  it('on a group leave out jobs that have its text only in their cause, stack or first line', async () => {
    const failure = { name: 'Overlap', connection: world.connection, queue: 'overlap', attempts: 1 };
    const exceptions = [
      'Error: 4711',
      'TypeError: total is no function',
      'SyncRefused: later\n    at sync.ts:1:1\n  [cause]: Error: 4712',
      'Error: 4713\n    at sync.ts:1:1',
    ];
    for (const [place, exception] of exceptions.entries()) {
      const payload = Buffer.from(`{"uuid":"overlap-${place}"}`);
      await world.manager.driver().failed!.put({ ...failure, id: `overlap-${place}`, payload, exception });
    }
    const { text: page } = await panel.get('failed?queue=overlap');
    const [, row = ''] = /data-key="\[&quot;Overlap&quot;,&quot;Error:&quot;\]"(.*?)<\/tr>/s.exec(page) ?? [];
    const [, form = ''] = /action="forget-failed"(.*?)<\/form>/s.exec(row) ?? [];
    const inputs = [...form.matchAll(/name="([^"]*)" value="([^"]*)"/g)];
    const fields = Object.fromEntries(inputs.map(([, name, value]) => [name!, unescaped(value!)]));

    const { text: question } = await panel.post('forget-failed', fields);
    await panel.post('forget-failed', { ...fields, confirmed: 'yes' });

    expect(question).toContain('<strong>2 failed jobs</strong>');
    const left = (await data('failed?queue=overlap')).jobs.map(({ id }) => id);
    expect(left.toSorted()).toEqual(['overlap-1', 'overlap-2']);
    await world.manager.failed.flush('overlap');
  });

  it('are not offered for a group that a form cannot identify', async () => {
    const failure = { connection: world.connection, queue: 'untold', attempts: 1 };
    const given = [
      ['Silent', ''],
      ['Silent', 'Error: heard'],
      ['', 'Error: nameless'],
      ['Silent ', 'Error: heard'],
    ];
    for (const [place, [name = '', exception = '']] of given.entries()) {
      const payload = Buffer.from(`{"uuid":"untold-${place}"}`);
      await world.manager.driver().failed!.put({ ...failure, id: `untold-${place}`, name, payload, exception });
    }

    const { text } = await panel.get('failed?queue=untold');

    expect((await data('failed?queue=untold')).groups).toHaveLength(4);
    const offered = [...text.matchAll(/<td class="actions">(.*?)<\/td>/gs)].map(([, actions]) => actions !== '');
    expect(offered.filter(Boolean)).toHaveLength(1);
    expect(text).toContain('<span class="unseen"> Silent: Error: heard</span>');
    await world.manager.failed.flush('untold');
  });

  it.each(['retry-failed', 'forget-failed'])('do nothing if nothing is selected: %s', async (action) => {
    const before = (await data('failed')).total;

    const text = await noticeOf(await panel.post(action, { back: 'failed' }));

    expect(text).toContain('No job was ticked, so nothing was done.');
    expect((await data('failed')).total).toBe(before);
  });

  it('ignore invalid job references', async () => {
    const form = new URLSearchParams([
      ['job', '{"id":1}'],
      ['job', '["memory","mail"'],
      ['job', '[1,2,3]'],
    ]);

    expect(await noticeOf(await panel.post('retry-failed', form))).toContain('No job was ticked');
  });

  it('answer before all is done if that takes long, and log the end', async () => {
    let finish: (count: number) => void = () => undefined;
    const asked = new Gate();
    const flush = jest.spyOn(world.manager.failed, 'flush').mockImplementation(() => {
      asked.open();
      return new Promise((resolve) => (finish = resolve));
    });
    const answer = panel.post('forget-failed', { all: 'yes', confirmed: 'yes', back: 'failed' });
    await asked.opened;
    await world.advance('6s');

    expect(await noticeOf(await answer)).toContain('goes on in the background');
    finish(70_000);
    await new Promise((resolve) => setImmediate(resolve));

    expect(world.log.messages('info').at(-1)).toContain('70,000 failed jobs are forgotten.');
    flush.mockRestore();
  });

  it('log with its stack an error that occurs after the answer', async () => {
    let fail: (error: Error) => void = () => undefined;
    const asked = new Gate();
    const flush = jest.spyOn(world.manager.failed, 'flush').mockImplementation(() => {
      asked.open();
      return new Promise((_, reject) => (fail = reject));
    });
    const answer = panel.post('forget-failed', { all: 'yes', confirmed: 'yes', back: 'failed' });
    await asked.opened;
    await world.advance('6s');
    await answer;
    fail(new RangeError('the store is full'));
    await new Promise((resolve) => setImmediate(resolve));

    expect(world.log.lines.at(-1)).toMatchObject({
      message: 'Dashboard: the store is full',
      facts: { err: { type: 'RangeError', stack: expect.stringContaining('failed.test.ts') as unknown } },
    });
    flush.mockRestore();
  });

  it('forget the failed jobs of all queues', async () => {
    await world.manager.connection().push(new NotifyTeam('ops', 'stays'));

    const text = await noticeOf(await panel.post('forget-failed', { all: 'yes', confirmed: 'yes', back: 'failed' }));

    expect(text).toMatch(/\d+ failed jobs are forgotten\./);
    expect(await panel.get('failed')).toMatchObject({ text: expect.stringContaining('No job has failed.') });
  });
});
