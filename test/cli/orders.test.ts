import { CommandKit, itemsIn } from './kit/command-kit';
import { reserveFrom, settleIn } from '../support/exchange';

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit();
});

afterEach(() => kit.close());

/** Several connections: `memory`, the default, and `stored` and `kept`, which other processes could reach. */
function giveTwo(away: readonly string[] = [], without: readonly string[] = []) {
  kit.project.write({
    'onqueue.config.js': `module.exports = { default: 'memory', connections: {
      memory: { driver: 'memory' }, stored: { driver: 'database', url: 'sqlite:./x' }, kept: { driver: 'redis' } } };`,
  });
  const named = (name: string) => () => {
    const connection = Object.assign(kit.store.duplicate(), { name });
    if (away.includes(name)) jest.spyOn(connection.control, 'restart').mockRejectedValue(new Error(`${name} is away`));
    return without.includes(name) ? Object.assign(connection, { control: undefined }) : connection;
  };
  kit.connectors = { memory: named('memory'), database: named('stored'), redis: named('kept') };
}

/** Pushes a delayed job. */
const later = (id: string) =>
  kit.store.push('mail', [{ payload: `{"job":"probe","data":{},"id":"${id}","attempts":0}`, delay: 600 }]);

describe('reschedule', () => {
  const dueIn = async (): Promise<number> => {
    const [job] = await kit.store.queues.peek('mail', 'delayed', 1);
    return Math.round((job!.at! - (await kit.store.now())) / 60_000);
  };

  it('moves a delayed job, by a time or to a moment', async () => {
    await later('A');

    expect(await kit.run('reschedule', 'A', '2h')).toMatchObject({
      stdout: 'A  rescheduled: it waits until then\n',
      code: 0,
    });
    expect(await dueIn()).toBe(120);
    const moment = new Date((await kit.store.now()) + 3 * 3_600_000).toISOString();
    await kit.run('reschedule', 'A', `${moment.slice(0, 16)}Z`);
    expect(Math.abs((await dueIn()) - 180)).toBeLessThan(2);
    const { stdout } = await kit.run('reschedule', 'A', '0', '--queue=mail', '--json');
    expect(JSON.parse(stdout)).toEqual({ id: 'A', result: 'ready' });
  });

  it('names an unknown id, and ends with 1', async () => {
    const { stdout, stderr, code } = await kit.run('reschedule', 'x', '2h', '--queue=mail');

    expect([stdout, code]).toEqual(['', 1]);
    expect(stderr).toContain("No job 'x' waits or runs on memory, queue mail: it has ended or failed (see retry)");
  });

  it.each([['2 hours'], ['soon'], ['2027-02-31'], ['-5']])('refuses the time %j, and moves nothing', async (time) => {
    await later('A');

    const { stderr, code } = await kit.run('reschedule', '--', 'A', time);

    expect(code).toBe(2);
    expect(stderr).toContain(time);
    expect(await dueIn()).toBe(10);
  });
});

describe('promote', () => {
  it('makes delayed jobs ready, and reports those that run already', async () => {
    await later('A');
    await kit.push('default', 'B');
    await reserveFrom(kit.store, { queues: ['default'], limit: 1, lease: 30 });

    const { stdout, stderr, code } = await kit.run('promote', 'A', 'B', 'x', 'A');

    expect(stdout).toBe(
      'A  ready: it runs when the jobs before it have been taken\nB  running: it is running, and was left alone\n',
    );
    expect([stderr.includes("No job 'x' waits or runs"), code]).toEqual([true, 1]);
    expect(await kit.store.queues.counts('mail')).toMatchObject({ ready: 1, delayed: 0 });
  });
});

describe('limit', () => {
  it('limits queues, lists the limits, and removes them', async () => {
    await kit.push('reports', 'A');

    const { stdout, stderr, code } = await kit.run('limit', '--queue=reports,default', '--running=5');
    expect([stdout, stderr.includes('never had a job'), code]).toEqual([
      'At most 5 jobs of reports at a time.\nAt most 5 jobs of default at a time.\n',
      false,
      0,
    ]);
    expect((await kit.run('limit')).stdout).toMatch(/reports +5 running/);
    expect((await kit.run('size')).stdout).toMatch(/^queue +ready +delayed +reserved +failed +at most$/m);
    const sizes = itemsIn((await kit.run('size', '--json')).stdout) as unknown;
    expect(sizes).toEqual([
      expect.objectContaining({ queue: 'default', limit: 5, paused: false }),
      expect.objectContaining({ queue: 'reports', limit: 5, paused: false }),
    ]);
    expect((await kit.run('check')).stdout).toContain('at most 5 of default, at most 5 of reports run at a time');

    expect((await kit.run('limit', '--queue=reports', '--none')).stdout).toBe('reports has no limit.\n');
    expect(await kit.store.control.limits!()).toEqual([{ queue: 'default', running: 5 }]);
    expect((await kit.run('limit', '--queue=reports')).stdout).toBe('No queue of memory has a limit.\n');
  });

  it('names a queue that was never used, and the command that undoes it', async () => {
    await kit.push('reports', 'A');

    const { stderr } = await kit.run('limit', '--queue=report', '--running=5');

    expect(stderr).toContain('it is limited all the same. Did you mean reports?');
    expect(stderr).toContain('onqueue limit memory --queue=report --none');
  });

  it.each([[['--running=0']], [['--running=many']], [['--running=5', '--none']]])('refuses %j', async (flags) => {
    expect((await kit.run('limit', ...flags)).code).toBe(2);
    expect(await kit.store.control.limits!()).toEqual([]);
  });
});

describe('cancel', () => {
  it('removes waiting jobs, and reports each', async () => {
    await kit.push('default', 'A');
    await kit.push('mail', 'B');

    const { stdout, code } = await kit.run('cancel', 'A', 'B');

    expect(stdout).toBe(
      'A  removed: it was waiting, and has been removed\nB  removed: it was waiting, and has been removed\n',
    );
    expect(code).toBe(0);
    expect(await kit.store.queues.counts('mail')).toMatchObject({ ready: 0 });
  });

  it('tells a running job to stop, and says so', async () => {
    await kit.push('default', 'A');
    const { reservations: held } = await reserveFrom(kit.store, { queues: ['default'], limit: 1, lease: 30 });

    const { stdout, code } = await kit.run('cancel', 'A', '--reason', 'wrong address');

    expect(stdout).toContain('A  signalled: it is running');
    expect(code).toBe(0);
    await settleIn(
      kit.store,
      held.map((reservation) => ({ outcome: 'released', delay: 0, reservation, counters: reservation.counters })),
    );
    expect((await reserveFrom(kit.store, { queues: ['default'], limit: 1, lease: 30 })).reservations).toMatchObject([
      { cancelled: 'wrong address' },
    ]);
  });

  it('names unknown ids, cancels the others, and ends with 1', async () => {
    await kit.push('default', 'A');

    const { stdout, stderr, code } = await kit.run('cancel', 'x', 'A', 'A', '--json');

    expect(itemsIn(stdout)).toEqual([
      { id: 'x', result: 'unknown' },
      { id: 'A', result: 'removed' },
    ]);
    expect(stderr).toContain("There is no job 'x' on memory: it has ended, or never existed.");
    expect(code).toBe(1);
  });

  it('searches only the queue that is named', async () => {
    await kit.push('mail', 'B');

    expect((await kit.run('cancel', '--queue=other', 'B')).stderr).toContain("no job 'B' on memory, queue other");
    expect((await kit.run('cancel', '--queue=mail', 'B')).code).toBe(0);
  });

  it.each([
    [[], "missing required argument 'ids'"],
    [[''], 'E_INVALID_JOB_ID'],
    [['1', '--queue=a,b'], 'E_INVALID_QUEUE_NAME'],
    [['1', '--connection=other'], 'E_UNKNOWN_CONNECTION'],
  ])('refuses %j', async (line, problem) => {
    const { stderr, code } = await kit.run('cancel', ...line);

    expect(stderr).toContain(problem);
    expect(code).toBe(2);
  });
});

describe('pause and resume', () => {
  beforeEach(async () => {
    await kit.push('high', 'A');
    await kit.push('low', 'B');
  });

  it("act on the connection's own queue by default, and say if nothing changed", async () => {
    expect((await kit.run('pause')).stdout).toBe('Paused default.\n');
    expect((await kit.run('pause')).stdout).toBe('default was already paused.\n');
    expect(await kit.store.control.paused()).toEqual([{ queue: 'default' }]);
    expect((await kit.run('resume')).stdout).toBe('Resumed default.\n');
    const { stdout, code } = await kit.run('continue');

    expect(stdout).toBe('default was not paused.\n');
    expect(code).toBe(0);
  });

  it.each([
    [['--queue=high,low']],
    [['memory', '--queue=high', '--queue=low']],
    [['memory:high,low']],
    [['memory:high', '--queue=low']],
  ])('act on the queues of %j', async (line) => {
    const { stdout } = await kit.run('pause', ...line, '--json');
    expect(itemsIn(stdout)).toEqual([
      { connection: 'memory', queue: 'high', paused: true, changed: true },
      { connection: 'memory', queue: 'low', paused: true, changed: true },
    ]);

    await kit.run('resume', ...line, '--json');
    expect(await kit.store.control.paused()).toEqual([]);
  });

  it('accept another connection, and treat a colon in --queue as part of the name', async () => {
    giveTwo();

    const { stdout } = await kit.run('pause', 'stored', '--queue=memory:high,low', '--json');

    expect(itemsIn(stdout)).toMatchObject([
      { connection: 'stored', queue: 'memory:high' },
      { connection: 'stored', queue: 'low' },
    ]);
  });

  it('accept a duration, and say until when the queue is paused, as does size', async () => {
    expect((await kit.run('pause', '--queue=low', '--for=1h')).stdout).toMatch(/^Paused low until /);
    const { stdout } = await kit.run('pause', '--queue=low', '--for=10m');
    const [, until] = /^low was already paused; it now is until (.*)\.\n$/.exec(stdout)!;
    expect((await kit.run('size', '--queue=low')).stdout).toMatch(new RegExp(`low .* until ${until}\n$`));
    expect(itemsIn((await kit.run('size', '--queue=low', '--json')).stdout)).toMatchObject([{ paused: true, until }]);
  });

  it('act on all queues of the connection with --all', async () => {
    await kit.run('pause', '--queue=gone');

    expect((await kit.run('pause', '--all')).stdout).toBe('Paused default.\nPaused high.\nPaused low.\n');
    expect((await kit.run('resume', '--all')).stdout).toBe(
      'Resumed default.\nResumed gone.\nResumed high.\nResumed low.\n',
    );
    expect((await kit.run('resume', '--all')).stdout).toBe('No queue of memory is paused.\n');
  });

  it.each(['pause', 'resume'])('refuse %s with both --all and queues', async (command) => {
    const { stderr, code } = await kit.run(command, 'memory:high', '--all');

    expect(stderr).toContain('give either --all or queues, not both');
    expect(code).toBe(2);
    expect(await kit.store.control.paused()).toEqual([]);
  });

  it('warn about an unused queue, because a typo would pause nothing', async () => {
    const { stderr, code } = await kit.run('pause', '--queue=hihg,high');

    expect(stderr).toMatch(/The queue hihg of memory has never had a job.*Did you mean high\?/);
    expect(stderr.match(/has never had a job/g)).toHaveLength(1);
    expect(code).toBe(0);
  });

  it('do nothing if one of the names is invalid', async () => {
    const { stderr, code } = await kit.run('pause', '--queue=high,lo w');

    expect(stderr).toContain('E_INVALID_QUEUE_NAME');
    expect(code).toBe(2);
    expect(await kit.store.control.paused()).toEqual([]);
  });

  it('are reflected by size', async () => {
    await kit.run('pause', '--queue=low,new');

    const { stdout } = await kit.run('size');

    expect(stdout.trimEnd().split('\n')).toEqual([
      'queue    ready  delayed  reserved  failed  paused',
      'default      0        0         0       0',
      'high         1        0         0       0',
      'low          1        0         0       0  yes',
      'new          0        0         0       0  yes',
    ]);
    expect(itemsIn((await kit.run('size', '--queue=low', '--json')).stdout)).toMatchObject([{ paused: true }]);
  });
});

describe('restart', () => {
  const order = async () => (await reserveFrom(kit.store, { queues: ['default'], limit: 1, lease: 30 })).restart;

  it('reaches the workers through the store', async () => {
    const before = await order();

    const { stdout, code } = await kit.run('restart');

    expect(await order()).not.toBe(before);
    expect(stdout).toMatch(/^Told the workers of memory \(memory of process \d+\) to finish their jobs/);
    expect(code).toBe(0);
  });

  it('reaches the workers of all shared connections, or of the one that is named', async () => {
    giveTwo();

    const all = await kit.run('restart', '--json');
    const one = await kit.run('restart', '--json', '--connection=stored');

    expect(itemsIn(all.stdout)).toMatchObject([{ connection: 'stored' }, { connection: 'kept' }]);
    expect(all.stderr).toBe('');
    expect(itemsIn(one.stdout)).toMatchObject([{ connection: 'stored' }]);
  });

  it('reaches the others if one connection is away, names it, and ends with 1', async () => {
    giveTwo(['stored']);

    const { stdout, stderr, code } = await kit.run('restart', '--json');

    expect(itemsIn(stdout)).toMatchObject([{ connection: 'kept' }]);
    expect(stderr).toContain('The workers of stored were not told: Error: stored is away');
    expect(code).toBe(1);
  });

  it('names connections whose store passes no orders, and says what to do instead', async () => {
    giveTwo([], ['kept']);

    const { stdout, stderr, code } = await kit.run('restart', '--json');

    expect(itemsIn(stdout)).toMatchObject([{ connection: 'stored' }]);
    expect(stderr).toMatch(
      /^The workers of kept were not told: its driver .* takes no orders\. Stop them with SIGTERM/,
    );
    expect(code).toBe(1);
  });

  it('is refused if no connection can pass it on', async () => {
    kit.project.write({
      'onqueue.config.js': "module.exports = { default: 'none', connections: { none: { driver: 'null' } } };",
    });
    kit.connectors = {
      null: () => Object.assign(kit.store.duplicate(), { name: 'none', driver: 'null', control: undefined }),
    };

    const { stderr, code } = await kit.run('restart');

    expect(stderr).toContain('E_CAPABILITY');
    expect(code).toBe(1);
  });
});
