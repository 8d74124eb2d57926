import type { TestClock } from '../../../src/testing/test-clock';
import type { ProcessOrder } from '../../../src/worker/supervisor/supervisor';
import type { RecordingLogger } from '../../support/application';
import type { FakeChild } from '../../support/fake-child';
import { SupervisedWorld } from '../../support/supervised-world';

let world: SupervisedWorld;
let clock: TestClock;
let log: RecordingLogger;
let orders: ProcessOrder[];
let children: FakeChild[];

beforeEach(() => {
  world = new SupervisedWorld();
  ({ clock, log, orders, children } = world);
});

function supervise(): void {
  void world.supervisor().run();
}

/** A child, by default the one that was started last. */
function child(index = -1): FakeChild {
  return children.at(index)!;
}

describe('a supervisor whose process has died', () => {
  it('starts another process after a pause if one was killed, and logs it on one line', async () => {
    supervise();
    child().reports();

    child().dies('SIGKILL');
    await clock.advance('499ms');
    expect(orders).toHaveLength(1);
    await clock.advance('1ms');

    expect(orders).toHaveLength(2);
    expect(log.messages('warn')).toEqual(['Process 1 (pid 100) was ended by SIGKILL; the next starts in 0.5 s.']);
    expect(log.messages('info')).toEqual(['Process 1 (pid 101) started.']);
  });

  it.each([
    [70, 'was ended because a handler blocked its event loop'],
    [1, 'ended with code 1'],
  ])('names the cause of an end with code %d', (code, cause) => {
    supervise();
    child().reports();

    child().dies(code);

    expect(log.messages('warn')).toEqual([`Process 1 (pid 100) ${cause}; the next starts in 0.5 s.`]);
  });

  it('replaces a process that died of its jobs at once, however often, and names the jobs', () => {
    supervise();
    for (let death = 0; death < 4; death += 1) {
      child().reports({}, [{ job: 'Exit', id: `e${death}`, queue: 'default' }]);
      child().dies(1);
    }

    expect(orders).toHaveLength(5);
    expect(log.messages('warn')).toEqual(
      [100, 101, 102, 103].map(
        (pid, death) => `Process 1 (pid ${pid}) ended with code 1 while it ran Exit e${death}; the next starts now.`,
      ),
    );
    expect(log.lines[0]?.facts).toMatchObject({ pid: 100, jobs: [{ job: 'Exit', id: 'e0', queue: 'default' }] });
  });

  it('tells the next process of a death at work, once, for the histories of the jobs', () => {
    const jobs = [{ job: 'Exit', id: 'e', queue: 'default', fence: 3 }];
    supervise();
    child().reports({ name: 'mails' }, jobs);
    child().dies('SIGKILL');
    child().reports();
    child().reports();

    expect(child().told).toEqual([
      {
        onqueue: 'deaths',
        deaths: [{ name: 'mails', pid: 100, at: world.clock.now(), signal: 'SIGKILL', code: undefined, jobs }],
      },
    ]);
  });

  it('blames the jobs that its process blamed for its blocked event loop, and no other', () => {
    supervise();
    const [innocent, first, second] = ['i', 'f', 's'].map((id) => ({ job: 'Hog', id, queue: 'default' }));
    child().reports({ running: 3 }, [innocent!]);

    child().emit('message', { onqueue: 'blocked', jobs: [first, second] });
    child().dies(70);

    expect(log.messages('warn')).toEqual([
      'Process 1 (pid 100) was ended because Hog f or Hog s blocked its event loop; the next starts now.',
    ]);
    expect(log.lines[0]?.facts).toMatchObject({ jobs: [first, second] });
  });

  it('counts the jobs that it does not name', () => {
    supervise();
    child().reports({ running: 12 }, [{ job: 'Exit', id: 'e0', queue: 'default' }]);

    child().dies('SIGKILL');

    expect(log.messages('warn')[0]).toContain('while it ran Exit e0 and 11 more; the next starts now.');
  });

  it('replaces a process that died between two jobs at once', () => {
    supervise();
    child().reports({ outcomes: { completed: 0, released: 0, failed: 1, cancelled: 0, lost: 0 } });

    child().dies('SIGSEGV');

    expect(orders).toHaveLength(2);
  });

  it('starts again with the shortest pause after a process that took a job', async () => {
    supervise();
    child().reports();
    child().dies('SIGSEGV');
    await clock.advance('500ms');
    child().reports({ running: 1 });
    child().dies('SIGSEGV');
    child().reports();
    child().dies('SIGSEGV');
    await clock.advance('500ms');

    expect(orders).toHaveLength(4);
  });

  it('waits longer and longer while processes die before they take a job', async () => {
    supervise();
    child().reports();
    const pauses: number[] = [];

    for (let death = 0; death < 8; death += 1) {
      const diedAt = clock.monotonic();
      child().dies('SIGSEGV');
      while (orders.length < death + 2) await clock.advance('500ms');
      pauses.push((clock.monotonic() - diedAt) / 1000);
    }

    expect(pauses).toEqual([0.5, 1, 2, 4, 8, 16, 30, 30]);
  });

  it('starts again with the shortest pause after a process that worked for a minute', async () => {
    supervise();
    for (let death = 0; death < 3; death += 1) {
      child().dies('SIGSEGV');
      await clock.advance('10s');
    }
    child().reports();
    await clock.advance('1m');

    child().dies('SIGSEGV');
    await clock.advance('500ms');

    expect(orders).toHaveLength(5);
  });
});
