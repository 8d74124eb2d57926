/** The commands that show a whole connection: `monitor`, `workers` and `jobs`. */
import { MemoryFailedStore } from '../../src/connections/memory/kept';
import { MemoryStore } from '../../src/connections/memory/store';
import { stripVTControlCharacters } from 'node:util';
import { QueueManager } from '../../src/application/queue-manager';
import { systemClock } from '../../src/base/clock';
import { builtInConnectors } from '../../src/connections/built-in';
import { snapshotTexts } from '../../src/cli/commands/monitor';
import { barsOf, Trends } from '../../src/cli/trends';
import { putWorker } from '../../src/operations/worker-record';
import { visibleWidth } from '../../src/cli/output';
import { RecordingLogger, until } from '../support/application';
import { CommandKit } from './kit/command-kit';
import { reserveFrom } from '../support/exchange';

let kit: CommandKit;
let manager: QueueManager;

beforeEach(() => {
  kit = new CommandKit();
  kit.connectors = { ...builtInConnectors, ...kit.connectors };
  manager = new QueueManager(
    { connectors: kit.connectors, clock: systemClock, logger: new RecordingLogger() },
    { connections: { memory: { driver: 'memory' } } },
  );
});
afterEach(async () => {
  await manager.close();
  await kit.close();
});

const parsed = async (...line: readonly string[]): Promise<unknown> =>
  JSON.parse((await kit.run(...line, '--json')).stdout);

const RUN = { id: 'j1', name: 'Render', queue: 'mail', attempt: 2, since: Date.now() - 65_000 };

const works = (more: object = {}): Promise<void> =>
  putWorker(kit.store.records, {
    ...{ id: 'w1', host: 'web-1', pid: 4711, version: '1.0.0', connection: 'memory', queues: ['mail'], concurrency: 5 },
    ...{ state: 'running' as const, at: Date.now(), since: Date.now() - 90_000, lag: 0, paused: [], busy: 1 },
    outcomes: { completed: 12, released: 0, failed: 3, cancelled: 0, lost: 0 },
    running: [RUN],
    ...more,
  });

const JOB = (name: string, id: string, attempts = 0): string =>
  `{"displayName":"${name}","job":"onqueue","data":{"commandName":"${name}","command":{}},"id":"${id}","attempts":${attempts}}`;

describe('jobs', () => {
  it("lists the ready jobs of the connection's own queue with ids, attempts and names", async () => {
    const id = await manager.connection().push('Mail', {});
    await kit.store.push('default', [{ payload: JOB('Render', 'r1', 2) }]);

    const { stdout, stderr, code } = await kit.run('jobs');

    const [headings, first, second] = stdout.split('\n');
    expect(headings).toMatch(/^id +attempts +sent +job$/);
    expect(first).toMatch(new RegExp(`^${id} +0 +\\d{4}-\\S+ \\S+ UTC +Mail$`));
    expect(second).toMatch(/^r1 +2 +Render$/);
    expect([stderr, code]).toEqual([expect.stringContaining('memory'), 0]);
  });

  it('lists delayed, running and failed jobs with their times', async () => {
    await kit.store.push('mail', [{ payload: JOB('Later', 'd1'), delay: 60 }, { payload: JOB('Render', 'r1') }]);
    await reserveFrom(kit.store, { queues: ['mail'], limit: 1, lease: 30 });
    await kit.fail('f1', { queue: 'mail' });

    const lines = async (state: string) => (await kit.run('jobs', 'mail', `--state=${state}`)).stdout.split('\n');

    expect((await lines('delayed'))[1]).toMatch(/^d1 +0 +\d{4}-.* UTC +Later$/);
    expect((await lines('running'))[1]).toMatch(/^r1 +1 +\d{4}-.* UTC +Render$/);
    expect((await lines('failed'))[1]).toMatch(/^f1 +SendMail +3 +\d{4}-.* UTC +Error: refused$/);
  });

  it('continues after the previous list, and says only then that there is more', async () => {
    const names = Array.from({ length: 250 }, (_, place) => `j${place}`);
    await kit.push('mail', ...names);

    const { stdout, stderr } = await kit.run('jobs', 'mail', '--limit=220');
    const [, after] = /--after=(\S+) shows the next/.exec(stderr)!;
    const rest = await kit.run('jobs', 'mail', `--after=${after}`);

    expect(stdout.trimEnd().split('\n')).toHaveLength(221);
    expect(rest.stdout.trimEnd().split('\n')).toHaveLength(31);
    expect(rest.stdout).toContain('j249');
    expect(rest.stderr).not.toContain('--after');
  });

  it('prints one JSON document, with payloads without secrets', async () => {
    await kit.store.push('mail', [{ payload: '{"job":"Mail","data":{"password":"geheim"},"id":"1","attempts":0}' }]);

    expect(await parsed('jobs', 'mail', '--limit=1')).toEqual({
      connection: 'memory',
      queue: 'mail',
      state: 'ready',
      items: [
        {
          ...{ id: '1', name: 'Mail', connection: 'memory', queue: 'mail', state: 'ready', attempts: 0 },
          payload: { job: 'Mail', data: { password: '***' }, id: '1', attempts: 0 },
        },
      ],
    });
  });

  it('prints separate lines for each job if a table does not fit, and no control characters', async () => {
    kit.columns = 60;
    const id = '0193a6c1-0000-7000-8000-000000000000';
    await kit.store.push('mail', [{ payload: JOB('Render', id) }, { payload: 'no json' }]);
    await kit.fail(id, { queue: 'mail', name: 'Ren\u202Eder', exception: 'Error: \u001B[31mred' });

    const { stdout } = await kit.run('jobs', 'mail', '--state=ready');
    const failed = await kit.run('jobs', 'mail', '--state=failed');

    expect(stdout).toMatch(/^0193a6c1-0000-7000-8000-000000000000\n {2}attempts 0, [\w ]+ ago\n {2}Render\n/);
    expect(stdout).toContain('(none yet)\n  attempts 0\n  (unreadable)\n');
    expect(failed.stdout).toContain(String.raw`Ren\u202eder`);
    expect(failed.stdout).toMatch(/ {2}Error: red\n$/);
  });

  it('says if there are no jobs, and what was perhaps meant', async () => {
    kit.project.write({
      'onqueue.config.js':
        "module.exports = { default: 'memory', connections: { memory: { driver: 'memory' }, other: { driver: 'null' } } };",
    });
    const { stdout, stderr, code } = await kit.run('jobs', 'other');

    expect([stdout, code]).toEqual(['No job is ready in other of memory.\n', 0]);
    expect(stderr).toContain('onqueue jobs --connection=other');
  });

  it.each([[['--state=reserved']], [['--after=nowhere']], [['--limit=0']], [['a,b']]])('refuses %j', async (line) => {
    expect(await kit.run('jobs', ...line)).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('workers', () => {
  it('lists active workers with what they run and for how long', async () => {
    await works();
    await works({
      id: 'w2',
      host: 'web-2',
      at: Date.now() - 42_000,
      busy: 0,
      running: [],
      since: Date.now() - 3_600_000,
    });

    const { stdout, code } = await kit.run('workers');

    const [headings, silent, busy] = stdout.split('\n');
    expect(headings).toMatch(/^worker +queues +busy +done +failed +for +state +runs$/);
    expect(silent).toMatch(/^web-2:4711 +memory: mail +0\/5 +12 +3 +1h +silent for 4\ds$/);
    expect(busy).toMatch(/^web-1:4711 +memory: mail +1\/5 +12 +3 +1m \d+s +running +Render 1m \d+s$/);
    expect(code).toBe(0);
  });

  it('prints one JSON document', async () => {
    await works();

    expect(await parsed('workers')).toMatchObject({ items: [{ id: 'w1', running: [{ name: 'Render', attempt: 2 }] }] });
  });

  it('says if there are none', async () => {
    expect((await kit.run('workers')).stdout).toBe('No worker runs, or none has reported within the last minute.\n');
  });

  it('says why there are none if the configuration turns metrics off', async () => {
    kit.project.write({
      'onqueue.config.js': "module.exports = { connections: { memory: { driver: 'memory' } }, metrics: false };",
    });

    expect((await kit.run('workers')).stdout).toBe(
      'No worker runs, or none has reported within the last minute: with `metrics: false` none does.\n',
    );
    expect((await kit.run('monitor')).stdout).toContain('workers unknown');
    expect((await kit.run('metrics')).stdout).not.toContain('onqueue_workers{');
  });

  it('refuses a connection without records', async () => {
    kit.project.write({ 'onqueue.config.js': "module.exports = { connections: { none: { driver: 'null' } } };" });
    const { stderr, code } = await kit.run('workers');
    expect([stderr, code]).toEqual([expect.stringContaining('keeps no records'), 1]);
  });
});

describe('monitor', () => {
  it('prints the state of the queues and the running jobs once if there is no terminal', async () => {
    await kit.push('mail', 'a', 'b', 'c');
    await reserveFrom(kit.store, { queues: ['mail'], limit: 1, lease: 60 });
    await works();
    await manager.connection().pause('default');

    const { stdout, code } = await kit.run('monitor');

    const [summary, , headings, own, mail, all, , runs, running] = stdout.split('\n');
    expect(summary).toMatch(/^memory {3}\d{4}-.* UTC {3}1 worker, 1 of 5 slots busy$/);
    expect(headings).toMatch(/^ +ready +delayed +running +failed +wait +\/min +queue$/);
    expect(own).toMatch(/^ +0 +0 +0 +0 +0 +default paused$/);
    expect(mail).toMatch(/^ +2 +0 +1 +0 +0 +mail$/);
    expect(all).toMatch(/^ +2 +0 +1 +0 +0 +all 2$/);
    expect(runs).toMatch(/^ +for +attempt +job +queue +worker +id$/);
    expect(running).toMatch(/^ +1m \d+s +2 +Render +mail +web-1:4711 +j1$/);
    expect(code).toBe(0);
  });

  it('shows running jobs of one class, queue and worker on one line', async () => {
    const snapshot = await manager.connection().snapshot({ queues: ['mail'] });
    const since = new Date(snapshot.at.getTime() - 5000);
    const running = Array.from({ length: 18 }, (_, at) => ({
      id: `j${at}`,
      name: 'Mail',
      queue: 'mail',
      attempt: 1,
      since,
    }));
    const worker = { name: 'web-1', pid: 4711, busy: 18, concurrency: 20, running };
    const workers = [worker] as unknown as typeof snapshot.workers;

    const { running: lines } = snapshotTexts({ ...snapshot, workers }, Infinity);

    expect(lines.slice(1)).toEqual([expect.stringMatching(/^ +5s +1 +Mail and 17 more +mail +web-1:4711 +j0$/)]);
  });

  it('shows a job once, on the worker that has it now, while the record of one that died still names it', async () => {
    const snapshot = await manager.connection().snapshot({ queues: ['mail'] });
    const { at, connection } = snapshot;
    const worker = (name: string, seconds: number) => {
      const since = new Date(at.getTime() - seconds * 1000);
      return { name, pid: 1, connection, running: [{ id: 'j1', name: 'Mail', queue: 'mail', attempt: 1, since }] };
    };
    const workers = [worker('dead', 50), worker('living', 5)] as unknown as typeof snapshot.workers;

    const { running } = snapshotTexts({ ...snapshot, isExact: false, workers }, Infinity);

    expect(running.slice(1)).toEqual([expect.stringMatching(/^ +5s .* living:1 +j1$/)]);
  });

  it('does not show jobs of a queue in which nothing runs any more, though their worker has not told so yet', async () => {
    await kit.push('mail', 'a');
    await works();
    expect((await kit.run('monitor')).stdout).not.toContain('Render');
    await reserveFrom(kit.store, { queues: ['mail'], limit: 1, lease: 60 });
    expect((await kit.run('monitor')).stdout).toContain('Render');
  });

  it('ends with 1 if a queue is too long, with --json too', async () => {
    await kit.push('mail', 'a', 'b');

    const printed = await kit.run('monitor', '--max=1');
    const document = await kit.run('monitor', '--max=1', '--json');

    expect(printed).toMatchObject({ code: 1, stdout: expect.stringMatching(/^ ! .* mail$/m) as string });
    expect(printed.stderr).toContain('2 jobs in mail of memory: more than 1 are ready.');
    expect(document.code).toBe(1);
    expect(JSON.parse(document.stdout)).toMatchObject({
      connection: 'memory',
      queues: [{}, { queue: 'mail', ready: 2 }],
    });
    expect((await kit.run('monitor', '--max=2')).code).toBe(0);
  });

  it('says how many jobs failed in the last five minutes, even if failed jobs are not kept', async () => {
    const snapshot = await manager.connection().snapshot({ queues: ['a', 'b', 'c'] });
    const [a, b, c] = snapshot.queues;
    const failing = [
      { ...a!, failed: 12, failures: 3 },
      { ...b!, failed: undefined, failures: 1 },
      { ...c!, failed: 7, failures: 0 },
    ];

    const { queues } = snapshotTexts({ ...snapshot, queues: failing }, Infinity);

    expect(queues.slice(1)).toEqual([
      expect.stringMatching(/ 12, 3 in 5 min .* a$/),
      expect.stringMatching(/ 0 +1 in 5 min .* b$/),
      expect.stringMatching(/ 0 +7 .* c$/),
      expect.stringMatching(/ 19, 4 in 5 min .* all 3$/),
    ]);
  });

  it('can be limited to named queues', async () => {
    await kit.push('mail', 'a');

    expect(await parsed('monitor', 'high,mail')).toMatchObject({ queues: [{ queue: 'high' }, { queue: 'mail' }] });
    expect(await kit.run('monitor', 'a b')).toMatchObject({ code: 2 });
  });

  describe('on a terminal', () => {
    const soon = (text: string): Promise<void> => until(kit.clock, () => screen().includes(text));

    /** The content of the screen. */
    function screen(): string {
      const [drawn = ''] = kit.shown.split('\u001B[H').slice(-1);
      return stripVTControlCharacters(drawn).replaceAll('\r', '');
    }

    beforeEach(async () => {
      kit.columns = 60;
      kit.rows = 14;
      await kit.push('high', 'a');
      await kit.push('mail', 'a', 'b');
    });

    it('redraws every two seconds in lines that fit, and restores the terminal', async () => {
      const ended = kit.run('monitor');
      await soon('mail');
      expect(screen()).toMatch(/^ +2 +0 +0 +0 +0 +mail$/m);
      await works();
      await kit.push('mail', 'c', 'd');
      await reserveFrom(kit.store, { queues: ['mail'], limit: 1, lease: 60 });

      await kit.clock.advance('2s');
      await until(kit.clock, () => /^ +3 +0 +1 +0 +0 +mail$/m.test(screen()));

      expect(screen()).toContain('Render');
      for (const line of screen().split('\n')) expect(visibleWidth(line)).toBeLessThan(60);
      expect(screen().split('\n')).toHaveLength(14);
      kit.press!('q');
      const { stdout, code } = await ended;
      expect(stdout.startsWith('\u001B[?1049h')).toBe(true);
      expect(stdout.endsWith('\u001B[?25h\u001B[?1049l')).toBe(true);
      expect([code, kit.press]).toEqual([0, undefined]);
    });

    it('sorts the queues, and keeps the chosen one', async () => {
      await kit.fail('f1', { queue: 'high' });
      const ended = kit.run('monitor');
      await soon('mail');
      const names = (): string[] => [...screen().matchAll(/ (default|high|mail)$/gm)].map(([, name]) => name!);
      expect(names()).toEqual(['default', 'high', 'mail']);

      kit.press!('j');
      kit.press!('s');
      expect([names(), screen()]).toEqual([['mail', 'high', 'default'], expect.stringContaining('sorted by ready')]);
      expect(screen()).toMatch(/^> .* default$/m);
      kit.press!('s');
      expect(names()).toEqual(['high', 'default', 'mail']);
      await kit.clock.advance('2s');
      expect(names()).toEqual(['high', 'default', 'mail']);
      kit.press!('sss');
      expect(names()).toEqual(['default', 'high', 'mail']);

      kit.press!('q');
      await ended;
    });

    it('looks into the chosen queue: why its jobs failed, what runs, and what comes next', async () => {
      kit.columns = 100;
      kit.rows = 30;
      await reserveFrom(kit.store, { queues: ['mail'], limit: 1, lease: 60 });
      await kit.store.push('mail', [{ payload: JOB('Later', 'd1'), delay: 60 }, { payload: 'no json' }]);
      await kit.fail('f1', { queue: 'mail', exception: 'Error: refused 17' });
      await kit.fail('f2', { queue: 'mail', exception: 'Error: refused 18' });
      await works({ busy: 2, running: ['mail', 'high'].map((queue) => ({ ...RUN, queue, name: `Render-${queue}` })) });
      const ended = kit.run('monitor');
      await soon('mail');

      kit.press!('\r');
      expect(screen()).toContain('Choose a queue first');
      kit.press!('k\r');
      await soon('What runs');

      expect(screen()).toMatch(/^memory, queue mail {3}.* UTC {3}2 ready, 1 delayed, 1 running, 2 failed/);
      expect(screen()).toMatch(
        /Why the newest 2 failed jobs failed\n.*\n {3} {3}2 +SendMail +\d+s ago +Error: refused 1\d$/m,
      );
      expect(screen()).toMatch(/What runs\n.*\n {3}1m \d+s +2 +Render-mail +mail +web-1:4711 +j1$/m);
      expect(screen()).not.toContain('Render-high');
      expect(screen()).toMatch(/The next that are ready\n.*\n {3}b +0 +b\n {3}\(none yet\) +0 +\(unreadable\)$/m);
      expect(screen()).toMatch(/The next that are delayed\n.*\n {3}d1 +0 +in \d+s +Later$/m);
      expect(screen().split('\n')).toHaveLength(30);

      kit.press!('p');
      await soon('Paused mail.');
      await soon(', paused');
      kit.press!('\u001B');
      await soon('mail paused');
      expect(screen()).toMatch(/^> .* mail paused$/m);
      kit.press!('q');
      expect((await ended).code).toBe(0);
    });

    it('says what cannot be read of a queue, and shows the rest', async () => {
      kit.columns = 100;
      const ended = kit.run('monitor');
      await soon('mail');
      const list = jest.spyOn(MemoryFailedStore.prototype, 'list').mockRejectedValue(new Error('gone for lunch'));
      kit.press!('k\r');
      await soon('gone for lunch');
      expect(screen()).toContain('The next that are ready');
      list.mockRestore();
      kit.press!('q');
      await ended;
    });

    it('pauses and resumes the selected queue', async () => {
      const ended = kit.run('monitor');
      await soon('mail');

      kit.press!('\u001B[B\u001B[B');
      await soon('p: pause or resume high');
      expect(screen()).toMatch(/^> {2}.* high$/m);
      kit.press!('p');
      await soon('high paused');
      expect(await manager.connection().pausedQueues()).toEqual(['high']);
      kit.press!('p');
      await soon('Resumed high.');
      expect(await manager.connection().pausedQueues()).toEqual([]);

      kit.press!('\u0003');
      await ended;
    });

    it('pauses all shown queues if none is selected and the key is pressed twice', async () => {
      const ended = kit.run('monitor', 'high,mail');
      await soon('mail');

      kit.press!('p');
      await soon('Press p again to pause 2 queues.');
      kit.press!('x');
      kit.press!('p');
      expect(await manager.connection().pausedQueues()).toEqual([]);
      kit.press!('p');
      await soon('Paused 2 queues.');
      expect(await manager.connection().pausedQueues()).toEqual(['high', 'mail']);

      kit.press!('pp');
      await soon('Resumed 2 queues.');
      kit.signal('SIGTERM');
      expect((await ended).code).toBe(0);
    });

    it('says that the store is away, goes on, and can be quit meanwhile', async () => {
      const ended = kit.run('monitor');
      await soon('mail');
      const names = jest.spyOn(MemoryStore.prototype, 'queueNames', 'get');
      names.mockReturnValueOnce(Promise.reject(new Error('gone for lunch')) as never);
      await kit.clock.advance('2s');
      await soon('gone for lunch');

      await kit.clock.advance('2s');
      await until(kit.clock, () => !screen().includes('gone for lunch'));

      names.mockReturnValue(new Promise(() => undefined) as never);
      await kit.clock.advance('2s');
      kit.press!('q');
      expect((await ended).code).toBe(0);
      expect(kit.clock.pending).toBe(0);
      names.mockRestore();
    });

    it('keeps the selected queue visible if there are more than fit', async () => {
      for (let place = 10; place < 40; place += 1) await kit.push(`q${place}`, 'a');
      const ended = kit.run('monitor');
      await soon('more queues');
      expect(screen()).not.toContain('q39');

      kit.press!('k');

      await soon('q39');
      expect(screen()).toMatch(/^> .* q39$/m);
      expect(screen().split('\n')).toHaveLength(14);
      kit.press!('q');
      await ended;
    });

    it('ends with 1 if a queue is too long at the end', async () => {
      const ended = kit.run('monitor', '--max=1');
      await soon('mail');
      expect(screen()).toMatch(/^ ! .* mail$/m);
      kit.press!('q');

      expect(await ended).toMatchObject({ code: 1, stderr: expect.stringContaining('2 jobs in mail') as string });
    });
  });
});

describe('how a queue went of late', () => {
  it('is a bar for each tenth of the time, and a dot where nothing ended', () => {
    expect(barsOf([])).toBe('··········');
    expect(barsOf(Array.from({ length: 30 }, (_, minute) => (minute < 3 ? 0 : minute < 6 ? 1 : 8)))).toBe('·▁████████');
  });

  it('is read every twenty seconds at most, and no trouble if no figures are kept', async () => {
    const figures = jest.fn().mockRejectedValue(new Error('keeps no figures'));
    const trends = new Trends({ figures } as never, kit.clock);
    await trends.look();
    expect(trends.of('mail')).toBe('');
    figures.mockResolvedValue({ queues: [{ queue: 'mail', spans: [{ completed: 3, failed: 1 }] }] });
    await trends.look();
    expect(figures).toHaveBeenCalledTimes(1);
    await kit.clock.advance('20s');
    await trends.look();
    expect(trends.of('mail')).toBe('█·········');
  });
});
