/** The commands and flags for batches: `batches`, `batch`, `batch:cancel`, `batch:retry`, `prune --batches`, and `--batch`. */
import { QueueManager } from '../../src/application/queue-manager';
import { systemClock } from '../../src/base/clock';
import { builtInConnectors } from '../../src/connections/built-in';
import type { Batch } from '../../src/dispatch/batch/batch';
import { JobBus } from '../../src/dispatch/bus';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { RecordingLogger, until } from '../support/application';
import { CommandKit, itemsIn } from './kit/command-kit';
import { JobProject } from './kit/job-project';

@Job()
class Passes extends Job {
  handle(): void {}
}

@Job()
class Fails extends Job {
  handle(): void {
    throw new Error('refused');
  }
}

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

const batchOf = (...jobs: readonly (Passes | Fails)[]): Promise<Batch> =>
  new JobBus(() => manager).batch(jobs).name('sheets').allowFailures().dispatch();

const work = (maxJobs: number): Promise<unknown> =>
  new Worker({ maxJobs, concurrency: 1, stopWhenEmpty: true }, manager).run();

const parsed = async (...line: readonly string[]): Promise<unknown> =>
  JSON.parse((await kit.run(...line, '--json')).stdout);

describe('batches', () => {
  it('lists batches with their progress, the newest first', async () => {
    const { id } = await batchOf(new Passes(), new Fails(), new Passes(), new Passes());
    await work(2);
    const newer = await batchOf(new Passes());

    const { stdout, code } = await kit.run('batches');

    const [headings, first, second] = stdout.split('\n');
    expect(headings).toMatch(/^id +state +created +name$/);
    expect(first).toMatch(new RegExp(`^${newer.id} +0% of 1 +\\d{4}-\\S+ \\S+ UTC +sheets$`));
    expect(second).toMatch(new RegExp(`^${id} +1 failed, 50% of 4 +\\d{4}-\\S+ \\S+ UTC +sheets$`));
    expect(code).toBe(0);
  });

  it('prints a table on a terminal with room for the names', async () => {
    const { id } = await batchOf(new Passes());
    kit.columns = 80;

    expect((await kit.run('batches')).stdout).toMatch(new RegExp(`^id .* name\n${id} .* sheets\n$`));
  });

  it('keeps each batch on one line of 80 columns: the name stays readable, and what is out of the ordinary', async () => {
    const failing = new JobBus(() => manager).batch([new Fails(), ...Array.from({ length: 1499 }, () => new Passes())]);
    const { id } = await failing.name('sheets of all customers').dispatch();
    await work(1);
    kit.columns = 80;

    const { stdout } = await kit.run('batches');
    expect(stdout).toMatch(new RegExp(`\n${id} .*cancelled, 1 f\\w+….* +\\d+s ago +sheets of a…\n$`));
    expect((await kit.run('batches', '--wide')).stdout).toContain('cancelled, 1 failed, 0% of 1,500');
  });

  it('prints separate lines for each batch on a terminal of 60 columns, without cutting anything', async () => {
    const { id } = await batchOf(new Passes());
    kit.columns = 60;

    expect((await kit.run('batches')).stdout).toBe(`${id}\n  0% of 1, 0s ago\n  sheets\n`);
  });

  it('accepts a limit, and says if there are more', async () => {
    await batchOf(new Passes());
    const { id } = await batchOf(new Passes());

    const { stdout, stderr } = await kit.run('batches', '--limit=1', '--json');

    expect(itemsIn(stdout)).toMatchObject([{ id }]);
    expect(stderr).toContain('more than these 1');
  });

  it('says if there are none', async () => {
    expect((await kit.run('batches')).stdout).toBe('No batches.\n');
    expect(await parsed('batches')).toEqual({ items: [] });
  });
});

describe('batch', () => {
  it('shows a batch completely', async () => {
    const { id } = await new JobBus(() => manager)
      .batch([new Passes(), new Fails()])
      .name('sheets')
      .allowFailures()
      .then(new Passes())
      .finally(new Passes().onQueue('last'))
      .dispatch();
    await work(2);

    const { stdout } = await kit.run('batch', id);

    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, 0s ago\n`;
    expect(stdout).toMatch(
      new RegExp(
        `^Name        sheets\nId          ${id}\nOn          memory\nState       finished\nProgress    100% of 2\n` +
          'Jobs        0 pending, 1 completed, 1 failed, 0 skipped\nFailures    the others go on\n' +
          'Then        Passes in default\nFinally     Passes in last, sent\n' +
          `Created     ${time}Finished    ${time}$`,
      ),
    );
    expect(await parsed('batch', id)).toEqual({
      ...{ id, name: 'sheets', connection: 'memory', state: 'finished', total: 2, pending: 0, completed: 1, failed: 1 },
      ...{ skipped: 0, progress: 1, allowsFailures: true },
      callbacks: [
        expect.objectContaining({ on: 'then', name: 'Passes', queue: 'default', connection: 'memory', isSent: false }),
        expect.objectContaining({ on: 'finally', name: 'Passes', queue: 'last', isSent: true }),
      ] as unknown,
      createdAt: expect.stringMatching(/Z$/) as unknown,
      finishedAt: expect.stringMatching(/Z$/) as unknown,
    });
  });

  it.each([['batch'], ['batch:cancel'], ['batch:retry']])('ends with 1 if %s gets an unknown id', async (name) => {
    const { stdout, stderr, code } = await kit.run(name, 'none');

    expect([stdout, code]).toEqual(['', 1]);
    expect(stderr).toContain("There is no batch 'none' on memory: finished ones are kept for a day.");
  });

  it.each([['batches'], ['batch', '1'], ['batch:cancel', '1'], ['batch:retry', '1'], ['prune', '--batches']])(
    'names the drivers that keep batches if the connection of %s keeps none',
    async (...line) => {
      const { stderr, code } = await kit.run(...line, '--connection=sync');

      expect(stderr).toMatch(/The connection 'sync' \(sync\) keeps no batches; .*\(E_CAPABILITY\)/);
      expect(code).toBe(1);
    },
  );

  describe('with --watch', () => {
    const watched = async (id: string, ...more: readonly string[]) => {
      const ended = kit.run('batch', id, '--watch', ...more);
      await until(kit.clock, () => kit.clock.pending > 0);
      return { ended };
    };
    const changed = async (jobs: number): Promise<void> => {
      await work(jobs);
      await kit.clock.advance('500ms');
    };

    it('prints a line for each change if there is no terminal, and then the batch', async () => {
      const { id } = await batchOf(new Passes(), new Fails());

      const { ended } = await watched(id);
      await kit.clock.advance('500ms');
      await changed(1);
      await changed(1);
      const { stdout, code } = await ended;

      expect(stdout.split('\n').slice(0, 4)).toEqual([
        '0% of 2: 2 pending, 0 completed, 0 failed, 0 skipped',
        '50% of 2: 1 pending, 1 completed, 0 failed, 0 skipped',
        'Name        sheets',
        `Id          ${id}`,
      ]);
      expect(code).toBe(0);
    });

    it('updates a bar on a terminal, and removes it at the end', async () => {
      const { id } = await batchOf(new Fails(), new Passes(), new Passes());
      kit.columns = 60;

      const { ended } = await watched(id);
      await changed(1);
      await changed(2);
      const { stdout, stderr } = await ended;

      expect(stderr.split('\r\u001b[K').slice(1)).toEqual([
        '[--------------------] 0% of 3',
        '[######--------------] 33% of 3, 1 failed, 2/s, 1s left',
        '',
      ]);
      expect(stdout).toMatch(/^Name {8}sheets\n/);
    });

    it('leaves out the bar if a terminal is too narrow for it and the counts', async () => {
      const { id } = await batchOf(new Fails(), new Passes());
      kit.columns = 30;

      const { ended } = await watched(id);
      await changed(1);
      await changed(1);

      expect((await ended).stderr.split('\r\u001b[K').slice(1)).toEqual([
        '[----------] 0% of 2',
        '50% of 2, 1 failed, 2/s',
        '',
      ]);
    });

    it('ends when a cancelled batch has no jobs left, even if it was cancelled before', async () => {
      const { id } = await batchOf(new Passes(), new Passes());
      await kit.run('batch:cancel', id);
      kit.columns = 60;

      const { ended } = await watched(id, '--json');
      await changed(2);
      const { stdout, stderr } = await ended;

      expect(stderr).toContain('] 0% of 2, cancelled\r');
      expect(JSON.parse(stdout)).toMatchObject({ state: 'cancelled', pending: 0, skipped: 2 });
      expect((await kit.run('batch', id, '--watch')).stdout).toMatch(/^Name/);
    });

    it('runs as long as the batch, even if nothing else keeps its process alive', async () => {
      const project = new JobProject();
      const stored = new QueueManager(
        { connectors: builtInConnectors, logger: new RecordingLogger(), folder: project.folder },
        { connections: { database: { driver: 'database', url: 'sqlite:./queue.sqlite' } } },
      );
      try {
        const { id } = await new JobBus(() => stored).batch([new Passes()]).dispatch();
        const child = project.onqueue(['batch', id, '--watch']);
        await child.prints('0% of 1: 1 pending');
        await new Worker({ stopWhenEmpty: true }, stored).run();

        expect(await child.ended).toMatchObject({ code: 0 });
        expect(child.stdout).toContain('State       finished\n');
      } finally {
        await stored.close();
        await project.end();
      }
    });

    it('ends with 1 if the batch is forgotten meanwhile', async () => {
      const { id } = await batchOf(new Passes());

      const { ended } = await watched(id);
      await manager.batches.prune({ olderThan: 0, unfinished: true });
      await kit.clock.advance('500ms');

      expect(await ended).toMatchObject({ code: 1, stderr: expect.stringContaining(`no batch '${id}'`) as unknown });
    });
  });
});

describe('batch:cancel', () => {
  it('cancels a batch, and says why an ended one cannot be cancelled', async () => {
    const { id } = await batchOf(new Passes(), new Passes());
    const other = await batchOf(new Passes());

    expect((await kit.run('batch:cancel', id)).stdout).toBe(
      'Cancelled the batch sheets (2 jobs): its waiting jobs are skipped.\n',
    );
    expect((await kit.run('batch:cancel', id)).stdout).toContain('(2 jobs) was already cancelled.\n');
    await work(3);
    const { stdout, code } = await kit.run('batch:cancel', other.id);
    expect([stdout, code]).toEqual(['Nothing to cancel: the batch sheets (1 job) has finished.\n', 0]);
    expect(await parsed('batch:cancel', id)).toEqual({ id, cancelled: false, state: 'cancelled' });
    expect(await manager.batches.get(id)).toMatchObject({ skipped: 2 });
  });
});

describe('batch:retry', () => {
  it('retries the failed jobs of the batch, and no others', async () => {
    const { id } = await batchOf(new Fails(), new Fails(), new Passes());
    await work(3);
    await kit.fail('other');

    expect((await kit.run('batch:retry', id)).stdout).toBe('Sent 2 failed jobs of the batch sheets (3 jobs) back.\n');
    expect(await parsed('batch:retry', id)).toEqual({ id, retried: 0, skipped: 0 });
    expect(await manager.batches.get(id)).toMatchObject({ pending: 2, failed: 0 });
    expect(await manager.failed.list()).toMatchObject([{ id: 'other' }]);
  });

  it('says that skipped jobs stay skipped', async () => {
    const { id } = await batchOf(new Fails(), new Passes());
    await work(1);
    await manager.batches.cancel(id);
    await work(1);

    expect((await kit.run('batch:retry', id)).stdout).toMatch(
      'Its 1 skipped job will not run, so then() will not be sent.',
    );
  });
});

describe('prune --batches', () => {
  const left = async (): Promise<string[]> => (await manager.batches.list()).map(({ id }) => id);

  it('forgets batches that finished earlier, and with --unfinished others too', async () => {
    const { id } = await batchOf(new Passes());
    await work(1);
    const { id: running } = await batchOf(new Passes());

    expect((await kit.run('prune', '--batches')).stdout).toBe('Forgot 0 batches.\n');
    expect((await kit.run('prune', '--batches=0', '--dry-run')).stdout).toBe('Would forget 1 batch.\n');
    expect(await parsed('prune', '--batches=0', '--unfinished', '--dry-run')).toEqual({ dryRun: true, batches: 2 });
    expect(await parsed('prune', '--batches', '--dry-run')).toEqual({ dryRun: true, batches: 0 });
    expect(await left()).toEqual([running, id]);
    expect((await kit.run('prune', '--batches=0')).stdout).toBe('Forgot 1 batch.\n');
    expect(await left()).toEqual([running]);
    expect(await parsed('prune', '--batches=0', '--unfinished')).toEqual({ batches: 1 });
    expect(await left()).toEqual([]);
  });

  it('covers all connections that keep batches', async () => {
    await batchOf(new Passes());
    const connections = "{ now: { driver: 'sync' }, memory: { driver: 'memory' } }";
    kit.project.write({ 'onqueue.config.js': `module.exports = { default: 'now', connections: ${connections} };` });

    expect(await parsed('prune', '--batches=0', '--unfinished')).toEqual({ batches: 1 });
  });

  it('also removes failed jobs if told which', async () => {
    await kit.fail('1');

    expect((await kit.run('prune', '--batches', '--keep=0')).stdout).toBe('Removed 1 failed job.\nForgot 0 batches.\n');
  });

  it.each([
    [['--batches', '--queue=mail'], 'choose failed jobs: also give --older-than or --keep'],
    [['--keep=1', '--unfinished'], '--unfinished only works with --batches, such as --batches=7d'],
    [['--batches=soon'], "'soon'"],
    [['--keep=-1'], 'a whole number from 0.'],
  ])('refuses %j, and removes nothing', async (flags, told) => {
    await kit.fail('1');

    const { stderr, code } = await kit.run('prune', ...flags);

    expect(stderr).toContain(told);
    expect(code).toBe(2);
    expect(await kit.store.failed.count()).toBe(1);
  });
});

describe('failed jobs of a batch', () => {
  let id: string;

  beforeEach(async () => {
    ({ id } = await batchOf(new Fails(), new Passes()));
    await work(2);
    await kit.fail('other');
  });

  it('show their batch in the list, in detail and as JSON', async () => {
    const [headings, ...rows] = (await kit.run('failed')).stdout.split('\n');
    expect(headings).toMatch(/ failed +batch +error$/);
    expect(rows.find((row) => row.includes('Fails'))).toMatch(new RegExp(` UTC +${id} +Error: refused$`));
    const { items } = (await parsed('failed', `--batch=${id}`)) as { items: { id: string }[] };
    const [listed] = items;
    expect(listed).toMatchObject({ name: 'Fails', batch: id });
    expect((await kit.run('failed', listed!.id)).stdout).toContain(`\nBatch       ${id}\n`);
  });

  it.each([
    [['retry'], { retried: 1, unknown: [] }],
    [['forget'], { forgotten: 1, unknown: [] }],
    [['prune', '--keep=0'], { pruned: 1 }],
  ])('are selected by --batch: %j', async (line, result) => {
    expect(await parsed(...line, `--batch=${id}`)).toEqual(result);
    expect(await manager.failed.list()).toMatchObject([{ id: 'other' }]);
  });

  it('can still be retried after the batch was forgotten', async () => {
    await kit.run('prune', '--batches=0', '--unfinished');
    expect(await kit.run('batch:retry', id)).toMatchObject({ code: 1 });
    expect(await parsed('retry', `--batch=${id}`)).toEqual({ retried: 1, unknown: [] });
  });

  it('cannot be selected by batch and by ids at once', async () => {
    expect(await kit.run('retry', 'other', `--batch=${id}`)).toMatchObject({ code: 2 });
  });
});
