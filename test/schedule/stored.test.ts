/** Schedules that are stored while the program runs: each process that knows the class of the job keeps them. */
import '../../src/composition';
import { randomBytes } from 'node:crypto';
import { reference, rows } from '../../src/entities/index';
import { QueueManager } from '../../src/application/queue-manager';
import { builtInConnectors } from '../../src/connections/built-in';
import { MemoryConnection } from '../../src/connections/memory/connection';
import { Queue } from '../../src/application/queue';
import { Job } from '../../src/job/job';
import type { JobInstance } from '../../src/job/registry';
import { Middleware } from '../../src/job/middleware';
import { FakeQueue, TestClock } from '../../src/testing/index';
import { Worker } from '../../src/worker/worker';
import { elapse, Gate, RecordingLogger, testApplication } from '../support/application';
import { Fleet, Prune, prune } from './fleet';

@Job({ debounce: { wait: '5m' } })
class Debounced extends Job {
  handle(): void {}
}

const handled: unknown[] = [];

@Middleware()
class Through {
  constructor(readonly word: string) {}
  handle(_job: object, next: () => unknown): unknown {
    handled.push(this.word);
    return next();
  }
}

@Job({ encrypted: true })
class Secret extends Job {
  constructor(readonly word: string) {
    super();
  }
  handle(): void {
    handled.push(this.word);
  }
}

@Job()
class Orders extends Job {
  constructor(
    readonly one: { readonly id: number },
    readonly many: readonly { readonly id: number }[],
  ) {
    super();
  }
  handle(): void {
    handled.push([this.one, ...this.many]);
  }
}

@Job({
  version: 2,
  upgrade: ({ city, ...others }) => ({ ...others, place: city }),
})
class Visit extends Job {
  constructor(readonly place: string) {
    super();
  }
  handle(): void {
    handled.push(this.place);
  }
}

let fleet: Fleet;
beforeEach(() => {
  handled.length = 0;
  fleet = new Fleet();
});
afterEach(() => fleet.end());

const HOURLY = { cron: '0 * * * *' };
const HALF_PAST = { cron: '30 * * * *' };
async function moveTo(clock: string): Promise<void> {
  const end = Date.parse(`2027-01-01T${clock}Z`);
  while (fleet.clock.now() < end) await fleet.clock.advance(Math.min(1, (end - fleet.clock.now()) / 1000));
  await elapse(fleet.clock, 0.25);
}

describe('a stored schedule', () => {
  test('is sent once by each occurrence, whichever process put it and however many keep it', async () => {
    const web = fleet.process();
    for (let count = 0; count < 3; count += 1) fleet.keep(openProcess());
    await moveTo('12:00:30');

    await web.schedules.put('report:42', { ...HOURLY, overlap: 'allow' }, new Prune('42d'));
    await moveTo('14:00:20');

    expect(await fleet.sent()).toEqual(['13:00:00', '14:00:00']);
    expect(await web.schedules.list()).toMatchObject([
      { name: 'report:42', isKept: true, isOrphan: false, declared: { job: 'Prune', origin: 'stored' } },
    ]);
    expect(fleet.log.messages('warn')).toEqual([]);
  });

  test('counts from when it was put, even if a worker sees it only after its first occurrence', async () => {
    fleet.keep(openProcess());
    await moveTo('12:59:59');

    await fleet.process().schedules.put('report', HOURLY, new Prune('1d'));
    await moveTo('13:00:20');

    expect(await fleet.sent()).toEqual(['13:00:00']);
  });

  test('does not make up for what was due before it was put', async () => {
    fleet.keep(openProcess());
    await moveTo('13:00:01');

    await fleet.process().schedules.put('report', HOURLY, new Prune('1d'));
    await moveTo('13:50:00');

    expect(await fleet.sent()).toEqual([]);
  });

  test('that is put with other times sends nothing of the old ones, and nothing that is over', async () => {
    fleet.keep(openProcess());
    const web = fleet.process();
    await web.schedules.put('report', HOURLY, new Prune('1d'));
    await moveTo('12:59:00');
    await web.schedules.put('report', HALF_PAST, new Prune('2d'));
    await moveTo('13:31:00');

    expect(await fleet.sent()).toEqual(['13:30:00']);
  });

  test('that is put again with the same times leaves nothing out, and sends the new data', async () => {
    const web = fleet.process();
    await web.schedules.put('report', HOURLY, new Prune('1d'));
    await moveTo('13:00:01');
    await web.schedules.put('report', HOURLY, new Prune('2d'));
    fleet.keep(openProcess());
    await moveTo('13:01:00');

    expect(await fleet.sent()).toEqual(['13:00:00']);
    const [job] = await new MemoryConnection('main', fleet.store).queues.peek('default', 'ready', 1);
    expect(job!.payload.toString()).toContain('"2d"');
  });

  test('that is removed sends nothing more, and nothing is left of it', async () => {
    fleet.keep(openProcess());
    const web = fleet.process();
    await web.schedules.put('report', HOURLY, new Prune('1d'));
    await moveTo('12:30:00');

    expect([await web.schedules.remove('report'), await web.schedules.remove('report')]).toEqual([true, false]);
    await moveTo('14:00:20');

    expect([await fleet.sent(), await web.schedules.list()]).toEqual([[], []]);
  });

  test('that is removed and put again does not make up for what was due in between', async () => {
    fleet.keep(openProcess());
    const web = fleet.process();
    await web.schedules.put('report', HOURLY, new Prune('1d'));
    await moveTo('12:30:00');
    await web.schedules.remove('report');
    await moveTo('13:00:02');
    await web.schedules.put('report', HOURLY, new Prune('1d'));
    await moveTo('13:30:00');

    expect(await fleet.sent()).toEqual([]);
  });

  test('that is removed while a process is about to send it is sent once or not at all, and not again', async () => {
    const held = new Gate();
    const pushing = new Gate();
    fleet.keep(openProcess());
    const web = fleet.process();
    await web.schedules.put('report', HOURLY, new Prune('1d'));
    await moveTo('12:59:30');
    fleet.fault = async (call, carryOut) => {
      if (call !== 'pushOnce') return carryOut();
      pushing.open();
      await held.opened;
      return carryOut();
    };
    await moveTo('13:00:05');
    await pushing.opened;
    await web.schedules.remove('report');
    held.open();
    fleet.keep(openProcess());
    await moveTo('14:00:20');

    expect(await fleet.sent()).toEqual(['13:00:00']);
    expect(await web.schedules.list()).toEqual([]);
  });

  test('is not sent by a process that read it before it was changed', async () => {
    const reading = new Gate();
    const held = new Gate();
    const web = fleet.process();
    await web.schedules.put('report', HOURLY, new Prune('1d'));
    let isFirst = true;
    fleet.fault = async (call, carryOut, [kind]) => {
      const read = await carryOut();
      if (call !== 'list' || kind !== 'planned' || !isFirst) return read;
      isFirst = false;
      reading.open();
      await held.opened;
      return read;
    };
    await moveTo('12:59:59');
    fleet.keep(openProcess());
    await reading.opened;
    fleet.fault = (_call, carryOut) => carryOut();
    await web.schedules.put('report', HALF_PAST, new Prune('1d'));
    await moveTo('13:00:01');
    held.open();
    await moveTo('13:10:00');

    expect(await fleet.sent()).toEqual([]);
  });

  test('that two processes put at the same time is the one of either', async () => {
    const put = (times: object) => fleet.process().schedules.put('report', times as never, new Prune('1d'));
    await Promise.all([put(HOURLY), put(HALF_PAST)]);
    fleet.keep(openProcess());
    await moveTo('13:00:20');

    expect(['13:00:00', '12:30:00']).toContain((await fleet.sent()).join());
  });

  test('can be paused and resumed, and stays paused when it is put again', async () => {
    fleet.keep(openProcess());
    const web = fleet.process();
    await web.schedules.put('report', HOURLY, new Prune('1d'));
    expect(await web.schedules.pause('report')).toBe(true);
    await web.schedules.put('report', HALF_PAST, new Prune('1d'));
    await moveTo('13:45:00');
    expect(await fleet.sent()).toEqual([]);

    await web.schedules.resume('report');
    await moveTo('14:31:00');
    expect(await fleet.sent()).toEqual(['14:30:00']);
  });

  test('is run by hand, and tells when it comes up', async () => {
    const web = fleet.process();
    await web.schedules.put('report', { cron: '0 8 * * *', timezone: 'Europe/Amsterdam' }, new Prune('1d'));

    const [first] = await web.schedules.occurrences('report', { count: 1 });
    await web.schedules.run('report');

    expect(first).toMatchObject({ at: new Date('2027-01-02T07:00:00Z'), wall: '2027-01-02 08:00' });
    expect(await fleet.sent()).toEqual(['12:00:00']);
  });

  test('goes to the queue that its job chose', async () => {
    fleet.keep(openProcess());
    await fleet.process().schedules.put('report', HOURLY, new Prune('1d').onQueue('low'));
    await moveTo('13:00:20');

    expect(await fleet.sent('low')).toEqual(['13:00:00']);
  });

  test('is left to others by a process that does not know its class', async () => {
    const web = fleet.process();
    await web.schedules.put('report', HOURLY, new Prune('1d'));
    const { records } = new MemoryConnection('main', fleet.store);
    const text = await records.get('planned', 'report');
    await records.put([{ kind: 'planned', id: 'unknown', value: text!.replaceAll('Prune', 'Unheard') }], 99_999);
    fleet.keep(openProcess());
    await moveTo('13:00:20');

    expect(await fleet.sent()).toEqual(['13:00:00']);
    expect(await web.schedules.list()).toMatchObject([
      { name: 'report', problem: undefined },
      { name: 'unknown', isKept: false, problem: { code: 'E_UNKNOWN_CLASS' } },
    ]);
    expect([await web.schedules.pause('unknown'), await web.schedules.remove('unknown')]).toEqual([true, true]);
    expect(fleet.log.messages('error')).toEqual([]);
  });

  test('whose record makes no sense is reported once, and holds up no other', async () => {
    const web = fleet.process();
    await web.schedules.put('report', HOURLY, new Prune('1d'));
    await new MemoryConnection('main', fleet.store).records.put([{ kind: 'planned', id: 'odd', value: '{]' }], 9999);
    fleet.keep(openProcess());
    await moveTo('13:00:20');

    expect(await fleet.sent()).toEqual(['13:00:00']);
    expect(fleet.log.messages('error')).toEqual([expect.stringContaining("reading the stored schedule 'odd'")]);
    expect(await web.schedules.remove('odd')).toBe(true);
  });

  test('is kept for as long as some worker keeps it', async () => {
    const web = fleet.process();
    await web.schedules.put('report', { cron: '0 0 1 1 *' }, new Prune('1d'));
    const { records } = new MemoryConnection('main', fleet.store);
    const value = (await records.get('planned', 'report'))!;
    await records.put([{ kind: 'planned', id: 'report', value }], 25 * 3600);
    fleet.keep(openProcess());
    for (let step = 0; step < 26 * 120; step += 1) await fleet.clock.advance('30s');

    expect(await web.schedules.list()).toMatchObject([{ name: 'report', isKept: true }]);
  });
});

describe('put refuses', () => {
  const schedules = (): QueueManager['schedules'] => fleet.process().schedules;

  test.each([
    ['a cron that does not parse', 'r', { cron: '61 * * * *' }, 'E_INVALID_SCHEDULE'],
    ['an unknown time zone', 'r', { ...HOURLY, timezone: 'Europe/Atlantis' }, 'E_INVALID_SCHEDULE'],
    ['no time at all', 'r', {}, 'E_INVALID_SCHEDULE'],
    ['a name among the options', 'r', { ...HOURLY, name: 'x' }, 'E_INVALID_SCHEDULE'],
    ['no options', 'r', undefined as never, 'E_INVALID_SCHEDULE'],
    ['an empty name', '', HOURLY, 'E_INVALID_SCHEDULE'],
    ['a name that is too long', 'r'.repeat(201), HOURLY, 'E_INVALID_SCHEDULE'],
  ])('%s', async (_what, name, options, code) => {
    await expect(schedules().put(name, options, new Prune('1d'))).rejects.toMatchObject({ code });
    expect(await schedules().list()).toEqual([]);
  });

  test.each([
    ['a job that cannot travel', () => new Prune((() => 1) as never), 'E_UNSERIALIZABLE_VALUE'],
    ['what is no job', () => 'Prune' as never, 'E_INVALID_SCHEDULE'],
    ['a debounced job', () => new Debounced(), 'E_INVALID_SCHEDULE'],
    ['a job that is too large to be read every ten seconds', () => new Prune('x'.repeat(20_000)), 'E_INVALID_SCHEDULE'],
    ['a secret without a key', () => new Secret('x'), 'E_NO_ENCRYPTION_KEY'],
    ['a connection without a worker', () => new Prune('1d').onConnection('sync'), 'E_CAPABILITY'],
  ])('%s', async (_what, job, code) => {
    await expect(schedules().put('report', HOURLY, job())).rejects.toMatchObject({ code });
    expect(await schedules().list()).toEqual([]);
  });

  test('the name of a schedule that this program declares, or that of a worker', async () => {
    const worker = fleet.process(prune((one) => one.daily()));
    const code = 'E_SCHEDULE_DECLARED';
    const refused = (manager: QueueManager) =>
      Promise.all([
        expect(manager.schedules.put('prune', HOURLY, new Prune('1d'))).rejects.toMatchObject({ code }),
        expect(manager.schedules.remove('prune')).rejects.toMatchObject({ code }),
      ]);

    await refused(worker);
    fleet.keep(worker);
    await elapse(fleet.clock, 1);
    await refused(fleet.process());
  });

  test('more than a thousand, but not to replace one of them', async () => {
    const own = schedules();
    await own.put('first', HOURLY, new Prune('1d'));
    const { records } = new MemoryConnection('main', fleet.store);
    const value = (await records.get('planned', 'first'))!;
    for (let page = 0; page < 10; page += 1) {
      const more = Array.from({ length: page === 0 ? 99 : 100 }, (_, place) => ({
        kind: 'planned',
        id: `${page}/${place}`,
        value,
      }));
      await records.put(more, 9999);
    }

    await expect(own.put('one more', HOURLY, new Prune('1d'))).rejects.toMatchObject({ code: 'E_TOO_MANY_SCHEDULES' });
    await own.put('first', HALF_PAST, new Prune('1d'));
  });

  test('a connection that keeps no records', async () => {
    const bare = new QueueManager(
      {
        connectors: {
          ...builtInConnectors,
          memory: () => Object.assign(new MemoryConnection('main', fleet.store), { records: undefined }),
        },
        logger: new RecordingLogger(),
        clock: fleet.clock,
      },
      { connections: { main: { driver: 'memory' } } },
    );
    await expect(bare.schedules.put('r', HOURLY, new Prune('1d'))).rejects.toMatchObject({ code: 'E_NO_RECORDS' });
  });
});

test('a declared schedule of the same name counts, and the log says so', async () => {
  await fleet.process().schedules.put('prune', HOURLY, new Prune('1d'));
  fleet.keep(fleet.process(prune((one) => one.cron('30 * * * *').overlap('allow'))));
  await elapse(fleet.clock, 1);
  fleet.keep(openProcess());
  await moveTo('13:31:00');

  expect(await fleet.sent()).toEqual(['12:30:00', '13:30:00']);
  expect(fleet.log.messages('info').slice(0, 1)).toEqual([
    expect.stringContaining("The schedule 'prune' is stored, and another"),
  ]);
});

describe('the job of a stored schedule', () => {
  const encryption = { use: 'now', keys: { now: randomBytes(32).toString('base64') } };
  const order = (id: number): object => ({ id, row: true });

  async function ran(
    job: JobInstance,
    count: number,
    { entities, older = (text) => text }: { entities?: ReturnType<typeof rows>; older?: (text: string) => string } = {},
  ): Promise<string> {
    const { manager, clock } = testApplication({ encryption, ...(entities && { entities: [entities] }) });
    await manager.schedules.put('report', { every: '30s' }, job);
    const { records } = manager.driver() as MemoryConnection;
    const record = older((await records.get('planned', 'report'))!);
    await records.put([{ kind: 'planned', id: 'report', value: record }], 9999);
    const worker = new Worker({}, manager);
    const run = worker.run();
    while (handled.length < count) await elapse(clock, 1);
    await worker.stop();
    await run;
    await manager.close();
    return record;
  }

  test('is sealed in its record, and by itself for each occurrence, with its middleware', async () => {
    const record = await ran(new Secret('canary').through(new Through('parrot')), 4);

    expect(handled.slice(0, 4)).toEqual(['parrot', 'canary', 'parrot', 'canary']);
    expect(record).not.toMatch(/canary|parrot/);
  });

  test('carries its entities as references, which are loaded when it runs', async () => {
    const one = reference<{ id: number }>('order', 1);
    const many = [2, 3].map((id) => reference<{ id: number }>('order', id));
    const entities = rows({ order: { many: (ids) => ids.map((id) => order(id as number)) } });
    await ran(new Orders(one, many), 2, { entities });

    expect(handled.slice(0, 2)).toEqual([1, 2].map(() => [1, 2, 3].map(order)));
  });

  test('is brought up to date if an older version of its class was stored', async () => {
    const older = (text: string): string =>
      text.replace('place', 'city').replace(String.raw`\"version\":2`, String.raw`\"version\":1`);
    const record = await ran(new Visit('Delft'), 2, { older });

    expect(record).toContain(String.raw`{\"city\":\"Delft\"},\"version\":1`);
    expect(handled.slice(0, 2)).toEqual(['Delft', 'Delft']);
  });
});

test('a fake sends stored schedules as its clock passes their times', async () => {
  using queue: FakeQueue = Queue.fake({ clock: new TestClock(new Date('2027-01-08T07:30:00Z')) });
  await Queue.schedules.put('report', { cron: '0 8 * * *' }, new Prune('7d'));
  await queue.travelTo(new Date('2027-01-10T12:00:00Z'));

  expect(queue.pushed(Prune)).toHaveLength(3);
});

/** A worker's process, which has opened its connection. */
function openProcess(): QueueManager {
  const manager = fleet.process();
  manager.driver();
  return manager;
}
