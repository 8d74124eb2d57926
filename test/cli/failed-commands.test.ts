/** The commands for failed jobs: `failed`, `retry`, `forget`, `flush`, `prune`. */
import { unconfirmed } from '../../src/cli/errors';
import { MemoryFailedStore } from '../../src/connections/memory/kept';
import { Gate, until } from '../support/application';
import { CommandKit, itemsIn } from './kit/command-kit';

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit();
});

afterEach(() => kit.close());

describe('failed', () => {
  it('lists failed jobs with the first line of their errors', async () => {
    await kit.fail('id-1', { name: 'SendMail', queue: 'mail' });

    const { stdout, code } = await kit.run('failed');

    const [headings, row] = stdout.split('\n');
    expect(headings).toMatch(/^id +job +queue +attempts +failed +error$/);
    expect(row).toMatch(/^id-1 +SendMail +mail +3 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC +Error: refused$/);
    expect(code).toBe(0);
  });

  it('groups jobs of a class whose errors say the same, the largest group first', async () => {
    const fail = (id: string, name: string, exception: string) =>
      kit.store.failed.put({
        ...{ id, name, connection: 'memory', queue: 'mail', attempts: 1, exception },
        payload: Buffer.from('{}'),
      });
    await kit.store.failed.flush();
    await fail('1', 'Other', 'TypeError: it broke');
    for (const id of ['2', '3']) await fail(id, 'SendMail', `MailRefused: the mailbox of customer ${id} is full`);

    const { stdout } = await kit.run('failed', '--groups');
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      expect.stringMatching(/^jobs +class +queue +last +error$/),
      expect.stringMatching(/^ +2 +SendMail +mail +\d{4}-.* UTC +MailRefused: the mailbox of customer/),
      expect.stringMatching(/^ +1 +Other +mail +\d{4}-.* UTC +TypeError: it broke$/),
    ]);
    expect(itemsIn((await kit.run('failed', '--groups', '--json')).stdout)).toMatchObject([
      { name: 'SendMail', count: 2, queues: ['mail'], id: '3' },
      { name: 'Other', count: 1 },
    ]);
    expect(await kit.run('failed', '1', '--groups')).toMatchObject({ code: 2 });
  });

  it('accepts a queue and a limit, and says if there are more', async () => {
    for (const id of ['1', '2', '3']) await kit.fail(id, { queue: 'mail' });
    await kit.fail('4', { queue: 'other' });

    const { stdout, stderr } = await kit.run('failed', '--queue=mail', '--limit=2', '--json');

    const listed = itemsIn(stdout) as { queue: string }[];
    expect(listed.map(({ queue }) => queue)).toEqual(['mail', 'mail']);
    expect(stderr).toContain('more than these 2');
  });

  it.each([
    [['--name=Other'], ['1']],
    [['--error=ECONN'], ['3']],
    [['--queue=mail', '--error=refused'], ['2']],
    [['--older-than=1h'], []],
    [['--connection=elsewhere'], []],
  ])('shows the jobs selected by %j', async (line, ids) => {
    await kit.fail('1', { name: 'Other' });
    await kit.fail('2', { queue: 'mail' });
    await kit.fail('3', { queue: 'mail', exception: 'Error: connect ECONNREFUSED' });

    const listed = itemsIn((await kit.run('failed', ...line, '--json')).stdout) as { id: string }[];
    expect(listed.map(({ id }) => id)).toEqual(ids);
    expect((await kit.run('failed', ...line)).stdout.startsWith('No failed job matches.')).toBe(ids.length === 0);
  });

  it('refuses an id together with filter flags', async () => {
    await kit.fail('1');
    const { stdout, stderr, code } = await kit.run('failed', '1', '--error=x');
    expect([stdout, code]).toEqual(['', 2]);
    expect(stderr).toContain('not both');
  });

  it('says if there are none', async () => {
    expect((await kit.run('failed')).stdout).toBe('No failed jobs.\n');
    expect((await kit.run('failed', '--json')).stdout).toBe('{"items":[]}\n');
  });

  it('shows all details of one job given its id', async () => {
    await kit.fail('id-1');

    const { stdout } = await kit.run('failed', 'id-1');

    expect(stdout).toContain('"commandName":"SendMail"');
    expect(stdout).toContain('Error: refused\n    at mail');
  });

  it('prints no terminal control characters, whatever the payload or error contains', async () => {
    await kit.fail('id-1', {
      payload: Buffer.from('{\u001b[2J'),
      exception: 'Error: \u001b]0;owned\u0007\n    at mail',
    });

    const { stdout } = await kit.run('failed', 'id-1');

    expect(stdout).toContain('    at mail');
    expect(stdout).not.toMatch(/[^\P{Cc}\n]/u);
  });

  describe('of a chain', () => {
    const link = (name: string, id: string) => ({
      queue: 'images',
      payload: `{"displayName":"${name}","job":"onqueue","data":{"commandName":"${name}","command":{}},"id":"${id}","attempts":0}`,
    });
    const chained = JSON.stringify([link('Resize', 'r'), link('Report', 's')]);
    const fetch = `{"displayName":"Fetch","job":"onqueue+","data":{"commandName":"Fetch","command":{}},"chained":${chained},"id":"f","attempts":1}`;
    const cause = '{"id":"f","name":"Fetch","message":"the host\\u001b[2J is away"}';
    const alert = `{"displayName":"Alert","job":"onqueue","data":{"commandName":"Alert","command":{}},"cause":${cause},"id":"a","attempts":1}`;

    beforeEach(async () => {
      await kit.fail('f', { name: 'Fetch', payload: Buffer.from(fetch) });
      await kit.fail('a', { name: 'Alert', payload: Buffer.from(alert) });
    });

    it('says how many jobs wait for it', async () => {
      const [headings, ...rows] = (await kit.run('failed')).stdout.split('\n');
      expect(headings).toMatch(/ failed +followed by +error$/);
      expect(rows.find((row) => row.startsWith('f'))).toMatch(/ UTC +2 jobs +Error: refused$/);
      expect(rows.find((row) => row.startsWith('a'))).toMatch(/ UTC +Error: refused$/);
    });

    it('names them, and says why a catch job was sent', async () => {
      expect((await kit.run('failed', 'f')).stdout).toContain('\nChain       2 jobs follow it: Resize, Report\n');
      expect((await kit.run('failed', 'a')).stdout).toContain('\nCause       Fetch f failed: the host is away\n');
    });

    it('prints both as JSON', async () => {
      const listed = itemsIn((await kit.run('failed', '--json')).stdout) as { id: string }[];
      expect(listed).toMatchObject([
        { id: 'a', chain: [], cause: { id: 'f', name: 'Fetch' } },
        { id: 'f', chain: [{ id: 'r', name: 'Resize', queue: 'images', connection: 'memory' }, { name: 'Report' }] },
      ]);
      expect(listed[1]).not.toHaveProperty('cause');
    });

    it('shows a job whose links cannot be read without them', async () => {
      await kit.fail('x', { payload: Buffer.from(fetch.replace('"queue":"images"', '"queue":5')) });
      expect((await kit.run('failed', 'x')).stdout).toMatch(/^Job +SendMail\n[^]*Payload/);
    });
  });

  it('ends with 1 if there is no job with that id', async () => {
    const { stderr, code } = await kit.run('failed', 'nothing');

    expect(stderr).toContain("no failed job 'nothing'");
    expect(code).toBe(1);
  });
});

describe('retry', () => {
  it('retries jobs by id', async () => {
    await kit.fail('1');
    await kit.fail('2');
    await kit.fail('3');

    const { stdout, code } = await kit.run('retry', '1', '3');

    expect(stdout).toContain('Sent 2 failed jobs back');
    expect(code).toBe(0);
    expect(await kit.store.queues.counts('default')).toMatchObject({ ready: 2 });
    expect(await kit.store.failed.count()).toBe(1);
  });

  it('retries all jobs', async () => {
    await kit.fail('1');
    await kit.fail('2');

    const { stdout } = await kit.run('retry', 'all', '--json');

    expect(JSON.parse(stdout)).toEqual({ retried: 2, unknown: [] });
    expect(await kit.store.queues.counts('default')).toMatchObject({ ready: 2 });
  });

  it('names unknown ids, retries the others, and ends with 1', async () => {
    await kit.fail('1');

    const { stderr, code } = await kit.run('retry', 'x', '1');

    expect(stderr).toContain("no failed job 'x'");
    expect(code).toBe(1);
    expect(await kit.store.queues.counts('default')).toMatchObject({ ready: 1 });
  });

  it.each([
    [[], 'choose jobs: by id, as listed by onqueue failed, or by flags such as --queue=mail'],
    [['1', '--name=SendMail'], 'not both'],
    [['1', '--range=1-5'], 'not both'],
    [['--range=5-1'], "--range: '5-1' is not valid."],
    [['--range=0'], "--range: '0' is not valid."],
  ])('refuses %j, and retries nothing', async (line, problem) => {
    await kit.fail('1');

    const { stderr, code } = await kit.run('retry', ...line);

    expect(stderr).toContain(problem);
    expect(code).toBe(2);
    expect(await kit.store.failed.count()).toBe(1);
  });

  it.each([
    [['--queue=mail'], ['2', '3']],
    [
      ['all', '--queue=mail'],
      ['2', '3'],
    ],
    [['--name=Other'], ['1']],
    [['--error=ECONN'], ['3']],
    [['--queue=mail', '--older-than=1h'], []],
    [['--range=1-2'], ['3', '2']],
    [['--range=2', '--queue=mail'], ['2']],
  ])('retries the jobs selected by %j', async (line, ids) => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'], now: Date.now() });
    await kit.fail('1', { name: 'Other' });
    jest.advanceTimersByTime(1000);
    await kit.fail('2', { queue: 'mail' });
    jest.advanceTimersByTime(1000);
    await kit.fail('3', { queue: 'mail', exception: 'Error: connect ECONNREFUSED' });
    jest.useRealTimers();

    const { stdout } = await kit.run('retry', ...line, '--json');

    expect(JSON.parse(stdout)).toEqual({ retried: ids.length, unknown: [] });
    const left = (await kit.store.failed.list({ limit: 9 })).map(({ id }) => id);
    expect(left.toSorted()).toEqual(['1', '2', '3'].filter((id) => !ids.includes(id)));
  });
});

describe('on a terminal', () => {
  // The first measurement is made before anything is done, the next one when the clock moves.
  const goesOn = async (...line: readonly string[]): Promise<string> => {
    kit.columns = 80;
    let isOver = false;
    const ended = kit.run(...line).finally(() => (isOver = true));
    await until(kit.clock, () => kit.clock.pending > 0 || isOver);
    await kit.clock.advance('250ms');
    gate.open();
    return (await ended).stderr;
  };
  let gate: Gate;

  beforeEach(async () => {
    for (let each = 0; each < 4; each += 1) await kit.fail(String(each), { name: each < 2 ? 'Other' : 'SendMail' });
    gate = new Gate();
    let forgotten = 0;
    const forget = MemoryFailedStore.prototype.forget;
    jest.spyOn(MemoryFailedStore.prototype, 'forget').mockImplementation(async function (
      this: MemoryFailedStore,
      entry,
    ) {
      if ((forgotten += 1) > 1) await gate.opened;
      return forget.call(this, entry);
    });
  });
  afterEach(() => jest.restoreAllMocks());

  it('shows the progress among the selected jobs', async () => {
    expect(await goesOn('forget', '--name=Other')).toContain(
      'Forgetting [##########----------] 50% of 2, 4/s, 1s left',
    );
  });

  it('does not wait for the count if there are very many jobs', async () => {
    jest.spyOn(MemoryFailedStore.prototype, 'count').mockResolvedValueOnce(20_002).mockResolvedValue(20_001);
    expect(await goesOn('forget', '--name=Other')).toContain('Forgetting: 1 done, 4/s');
  });
});

describe('forget, flush and prune', () => {
  beforeEach(async () => {
    await kit.fail('1', { queue: 'mail' });
    await kit.fail('2', { queue: 'mail' });
    await kit.fail('3', { queue: 'other' });
  });

  it('forget removes single jobs, and ends with 1 for unknown ids', async () => {
    const { stdout, code } = await kit.run('forget', '1', 'x', '--json');

    expect(JSON.parse(stdout)).toEqual({ forgotten: 1, unknown: ['x'] });
    expect(code).toBe(1);
    expect(await kit.store.failed.count()).toBe(2);
  });

  it('flush removes all', async () => {
    expect((await kit.run('flush')).stdout).toBe('Removed 3 failed jobs.\n');
    expect(await kit.store.failed.count()).toBe(0);
  });

  it.each([
    [['--queue=mail'], 2],
    [['--name=SendMail', '--queue=other'], 1],
    [['--error=no such text'], 0],
  ])('forget removes the jobs selected by %j', async (line, forgotten) => {
    expect(JSON.parse((await kit.run('forget', ...line, '--json')).stdout)).toEqual({ forgotten, unknown: [] });
    expect(await kit.store.failed.count()).toBe(3 - forgotten);
  });

  it('forget all removes nothing, and names the command that does', async () => {
    const { stderr, code } = await kit.run('forget', 'all');

    expect(stderr).toContain("There is no failed job 'all'. To remove all: onqueue flush.");
    expect(code).toBe(1);
  });

  it.each([[[]], [['1', '--error=x']]])('forget refuses %j', async (line) => {
    expect((await kit.run('forget', ...line)).code).toBe(2);
    expect(await kit.store.failed.count()).toBe(3);
  });

  it('flush can remove only older jobs', async () => {
    expect((await kit.run('flush', '--hours=48', '--json')).stdout).toBe('{"flushed":0}\n');
    expect((await kit.run('flush', '--hours=0', '--queue=mail')).stdout).toBe('Removed 2 failed jobs.\n');
    expect((await kit.run('flush', '--hours=2d')).stderr).toContain(
      "--hours: '2d' is not valid. Give a number of hours.",
    );
    expect(await kit.store.failed.count()).toBe(1);
  });

  it('flush asks in production, and refuses if nobody can be asked', async () => {
    kit.environment = { NODE_ENV: 'production' };
    expect((await kit.run('flush')).stderr).toContain(unconfirmed.code);
    kit.answer = 'n';
    expect((await kit.run('flush', '--queue=mail')).code).toBe(2);
    expect(kit.asked).toEqual([expect.stringContaining('Remove failed jobs of the queue mail for good (2 jobs)?')]);
    expect(await kit.store.failed.count()).toBe(3);

    expect((await kit.run('flush', '--force')).code).toBe(0);
    expect(await kit.store.failed.count()).toBe(0);
  });

  it('flush can remove those of one queue', async () => {
    await kit.run('flush', '--queue=mail');

    expect(await kit.store.failed.count('mail')).toBe(0);
    expect(await kit.store.failed.count()).toBe(1);
  });

  it('prune keeps the newest', async () => {
    expect((await kit.run('prune', '--keep=1')).stdout).toBe('Removed 2 failed jobs.\n');
  });

  it('prune removes by age', async () => {
    expect((await kit.run('prune', '--older-than=1h', '--json')).stdout).toBe('{"pruned":0}\n');
    expect((await kit.run('prune', '--older-than=0')).code).toBe(0);
  });

  it('prune does not touch other connections with --connection', async () => {
    expect((await kit.run('prune', '--older-than=0', '--connection=sync')).stdout).toBe('Removed 0 failed jobs.\n');
    expect(await kit.store.failed.count()).toBe(3);
  });

  it('prune refuses to run without a criterion', async () => {
    const { stderr, code } = await kit.run('prune');

    expect(stderr).toContain('--older-than=30d');
    expect(code).toBe(2);
    expect(await kit.store.failed.count()).toBe(3);
  });
});
