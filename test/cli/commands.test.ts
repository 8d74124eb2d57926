import { join } from 'node:path';
import { unconfirmed } from '../../src/cli/errors';
import { CommandKit, itemsIn } from './kit/command-kit';

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit();
});

afterEach(() => kit.close());

describe('size', () => {
  it('shows every used queue and the default one', async () => {
    await kit.push('high', 'A', 'B');
    await kit.store.push('low', [{ payload: '{}', delay: 60 }]);
    await kit.fail('1', { queue: 'high' });

    const { stdout, code } = await kit.run('size');

    expect(stdout.trimEnd().split('\n')).toEqual([
      'queue    ready  delayed  reserved  failed',
      'default      0        0         0       0',
      'high         2        0         0       1',
      'low          0        1         0       0',
    ]);
    expect(code).toBe(0);
  });

  it.each([
    [['--queue=high,other']],
    [['memory', '--queue=high', '--queue=other']],
    [['memory:high', '--queue=other']],
  ])('shows the queues of %j, as JSON if asked to', async (line) => {
    await kit.push('high', 'A');

    const { stdout } = await kit.run('size', ...line, '--json');

    expect(itemsIn(stdout)).toEqual([
      { queue: 'high', ready: 1, delayed: 0, reserved: 0, failed: 0, paused: false },
      { queue: 'other', ready: 0, delayed: 0, reserved: 0, failed: 0, paused: false },
    ]);
  });

  it('reports that nothing was counted if the store is away', async () => {
    const counts = () => Promise.reject(new Error("queue 'default' was not counted"));
    const paused = () => Promise.reject(new Error('the paused queues were not read'));
    const queues = { ...kit.store.queues, counts };
    const control = { ...kit.store.control, paused };
    kit.connectors = { memory: () => Object.assign(kit.store.duplicate(), { queues, control }) };

    const { stderr, code } = await kit.run('size');

    expect(stderr).toContain("queue 'default' was not counted");
    expect(code).toBe(1);
  });

  it('says that the counts of a store are estimates if they are', async () => {
    const capabilities = { ...kit.store.capabilities, exactCounts: false };
    kit.connectors = { memory: () => Object.assign(kit.store.duplicate(), { capabilities }) };

    expect((await kit.run('size')).stderr).toContain('jobs are estimates by memory, some minutes old');
    expect(itemsIn((await kit.run('size', '--json')).stdout)).toMatchObject([{ ready: 0, approximate: true }]);
  });

  it('refuses an unknown connection, and suggests the nearest', async () => {
    const { stderr, code } = await kit.run('size', 'memroy');

    expect(stderr).toMatch(/No connection 'memroy'.*it has memory\. Did you mean 'memory'\?.*\(E_UNKNOWN_CONNECTION\)/);
    expect(code).toBe(2);
  });
});

describe('clear', () => {
  it('forgets the queues that it clears if it is told to', async () => {
    await kit.push('order-17', 'SendMail');

    const { stdout } = await kit.run('clear', '--queue=order-17,never', '--forget');

    expect(stdout).toBe(
      'Removed 1 job from order-17. It is forgotten.\nRemoved 0 jobs from never. It was not known, or has failed jobs.\n',
    );
    expect((await kit.run('size', '--json')).stdout).not.toContain('order-17');
  });

  beforeEach(async () => {
    await kit.push('default', 'A', 'B');
    await kit.push('high', 'C');
    await kit.push('low', 'D');
  });

  it("empties the connection's own queue and no other", async () => {
    const { stdout, code } = await kit.run('clear');

    expect(stdout).toBe('Removed 2 jobs from default.\n');
    expect(code).toBe(0);
    expect(await kit.store.queues.counts('high')).toMatchObject({ ready: 1 });
  });

  it.each([[['--queue=high,low']], [['memory', '--queue=high', '--queue=low']], [['memory:high', '--queue=low']]])(
    'empties the queues of %j',
    async (line) => {
      const { stdout } = await kit.run('clear', ...line, '--json');

      expect(itemsIn(stdout)).toEqual([
        { queue: 'high', cleared: 1 },
        { queue: 'low', cleared: 1 },
      ]);
      expect(await kit.store.queues.counts('default')).toMatchObject({ ready: 2 });
    },
  );

  it('refuses in production if there is no terminal to ask on', async () => {
    kit.environment = { NODE_ENV: 'production' };

    const { stderr, code } = await kit.run('clear');

    expect(stderr).toContain('--force');
    expect(stderr).toContain(unconfirmed.code);
    expect(code).toBe(2);
    expect(await kit.store.queues.counts('default')).toMatchObject({ ready: 2 });
  });

  it('asks in production, saying what would be lost', async () => {
    kit.environment = { NODE_ENV: 'production' };
    kit.answer = 'y';

    await kit.run('clear', '--queue=default,high');

    expect(kit.asked).toEqual([expect.stringMatching(/Clear default, high on memory .*\(3 jobs\)\?.*\[y\/N\]/)]);
    expect(await kit.store.queues.counts('default')).toMatchObject({ ready: 0 });
  });

  it.each(['', 'n', 'yeah'])('takes %j as a no', async (answer) => {
    kit.environment = { NODE_ENV: 'production' };
    kit.answer = answer;

    expect((await kit.run('clear')).code).toBe(2);
    expect(await kit.store.queues.counts('default')).toMatchObject({ ready: 2 });
  });

  it('does not ask with --force or outside production', async () => {
    kit.answer = 'n';
    await kit.run('clear', '--queue=high');
    kit.environment = { NODE_ENV: 'production' };
    await kit.run('clear', '--queue=low', '--force');

    expect(kit.asked).toEqual([]);
    expect(await kit.store.queues.counts('low')).toMatchObject({ ready: 0 });
  });
});

describe('any command', () => {
  it.each([
    ['size'],
    ['clear'],
    ['failed'],
    ['failed', '1'],
    ['retry', 'all'],
    ['forget', '1'],
    ['flush'],
    ['prune', '--keep=1'],
    ['prune', '--batches'],
    ['batches'],
    ['batch', '1'],
    ['batch:cancel', '1'],
    ['batch:retry', '1'],
    ['cancel', '1'],
    ['reschedule', '1', '2h'],
    ['promote', '1'],
    ['pause'],
    ['resume'],
    ['limit', '--running=5'],
    ['restart'],
  ])('warns in %s that the store in memory is not shared with other processes', async (...line) => {
    const { stderr } = await kit.run(...line);

    expect(stderr.match(/The memory driver lives in one process/g)).toHaveLength(1);
  });

  it('does not warn about a store in memory that the command does not use', async () => {
    kit.project.write({
      'onqueue.config.js':
        "module.exports = { default: 'stored', connections: { memory: { driver: 'memory' }, stored: { driver: 'database', url: 'sqlite:./x' } } };",
    });
    const stored = () => Object.assign(kit.store.duplicate(), { name: 'stored' });
    kit.connectors = { memory: () => kit.store.duplicate(), database: stored };

    expect((await kit.run('size')).stderr).toBe('');
    expect((await kit.run('failed')).stderr).toBe('');
    expect((await kit.run('size', 'memory')).stderr).toContain('The memory driver');
  });

  it('uses the singular for one job', async () => {
    await kit.push('default', 'A');
    for (const id of ['1', '2', '3', '4']) await kit.fail(id);

    const printed = [];
    for (const line of ['clear', 'retry 1', 'forget 2', 'prune --keep=1', 'flush']) {
      printed.push((await kit.run(...line.split(' '))).stdout.trimEnd());
    }

    expect(printed).toEqual([
      'Removed 1 job from default.',
      'Sent 1 failed job back to its queue.',
      'Forgot 1 failed job.',
      'Removed 1 failed job.',
      'Removed 1 failed job.',
    ]);
  });

  it('shows an unexpected error with its stack', async () => {
    kit.connectors = {
      memory: () => {
        throw new TypeError('nobody foresaw this');
      },
    };

    const { stderr, code } = await kit.run('size');

    expect(stderr).toMatch(/TypeError: nobody foresaw this\n\s+at /);
    expect(code).toBe(1);
  });

  it('shows every mistake of a configuration without a stack', async () => {
    kit.project.write({
      'onqueue.config.js': "module.exports = { connections: { memory: { driver: 'memroy' } }, jobz: [] };",
    });

    const { stderr, code } = await kit.run('size');

    expect(stderr).toContain('connections.memory.driver');
    expect(stderr).toContain('jobz');
    expect(stderr).toContain('(E_CONFIGURATION)');
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(code).toBe(1);
  });

  it('uses the configuration of --config, with its folder as the project', async () => {
    const other = `module.exports = { connections: { mine: { driver: 'memory', queue: 'elsewhere' } } };`;
    kit.project.write({ 'other/package.json': '{}', 'other/mine.js': other });
    let root: string | undefined;
    kit.connectors = {
      memory: (_config, context) => {
        ({ root } = context);
        return Object.assign(kit.store.duplicate(), { name: 'mine' });
      },
    };

    const { stdout } = await kit.run('size', '--config=other/mine.js', '--json');

    expect(itemsIn(stdout)).toEqual([expect.objectContaining({ queue: 'elsewhere' })]);
    expect(root).toBe(join(kit.project.folder, 'other'));
  });

  it('says if the file of --config does not exist', async () => {
    const { stderr, code } = await kit.run('size', '--config=mine.js');

    expect(stderr).toContain(`--config: nothing matches 'mine.js' in ${kit.project.folder}`);
    expect(code).toBe(2);
  });

  it('closes the connections it opened', async () => {
    const opened = kit.store.duplicate();
    kit.connectors = { memory: () => opened };

    await kit.run('size');

    await expect(opened.queues.counts('default')).rejects.toThrow('closed');
  });
});

describe('a queue in place of the connection', () => {
  it.each(['clear', 'size', 'pause', 'resume'])('is refused by %s with the right command', async (command) => {
    await kit.push('mail', 'A');

    const { stderr, stdout, code } = await kit.run(command, 'mail');

    expect(stderr).toContain("No connection 'mail' in the configuration");
    expect(stderr).toContain(`it has memory. If you meant a queue: onqueue ${command} --queue=mail`);
    expect({ stdout, code }).toEqual({ stdout: '', code: 2 });
    expect(await kit.store.control.paused()).toEqual([]);
    expect(await kit.store.queues.counts('mail')).toMatchObject({ ready: 1 });
  });

  it.each([
    ['clear', 'high', 'low'],
    ['work', 'high', 'low'],
    ['listen', 'high', 'low'],
  ])('is refused among other arguments: %s %s %s', async (command, ...queues) => {
    const { stderr, code } = await kit.run(command, ...queues);

    expect(stderr).toContain(`Name queues with --queue: onqueue ${command} --queue=high,low; or, if high is a `);
    expect(stderr).toContain(`onqueue ${command} high --queue=low\n`);
    expect(code).toBe(2);
  });

  it('is refused by work before anything is started', async () => {
    expect(await kit.work('mail')).toMatchObject({
      stderr: expect.stringContaining('If you meant a queue: onqueue work --queue=mail') as string,
      code: 2,
    });
  });
});
