import type { TestClock } from '../../../src/testing/test-clock';
import type { ProcessOrder, Supervisor, SupervisorSettings } from '../../../src/worker/supervisor/supervisor';
import type { RecordingLogger } from '../../support/application';
import { FakeChild } from '../../support/fake-child';
import { REASONS, SupervisedWorld } from '../../support/supervised-world';

let world: SupervisedWorld;
let clock: TestClock;
let log: RecordingLogger;
let orders: ProcessOrder[];
let children: FakeChild[];
let supervisor: Supervisor;
let ended: Promise<number>;

beforeEach(() => {
  world = new SupervisedWorld();
  ({ clock, log, orders, children } = world);
});

function supervise(settings: Partial<SupervisorSettings> = {}): void {
  supervisor = world.supervisor(settings);
  ended = supervisor.run();
}

/** By default the one that was started last. */
function child(index = -1): FakeChild {
  return children.at(index)!;
}

describe('a supervisor', () => {
  it('starts the other processes when the first has begun to work', () => {
    supervise({ processes: 3 });
    expect(orders).toEqual([{ number: 1, opened: false, afterCrash: false, maxTime: Infinity }]);

    child(0).reports();

    expect(orders.slice(1)).toEqual([
      { number: 2, opened: true, afterCrash: false, maxTime: Infinity },
      { number: 3, opened: true, afterCrash: false, maxTime: Infinity },
    ]);
  });

  it('ends with the code of a first process that could not start, and starts no other', async () => {
    supervise({ processes: 3 });

    child().dies(2);

    expect(await ended).toBe(2);
    expect(orders).toHaveLength(1);
  });

  it('tries again when the system could not start a process', async () => {
    let fails = true;
    supervise({
      start: (order) => {
        orders.push(order);
        if (fails) throw new Error('spawn ENOMEM');
        return new FakeChild(1);
      },
    });
    fails = false;
    await clock.advance('500ms');

    expect(orders).toHaveLength(2);
    expect(log.messages('warn')).toEqual([
      'Process 1 could not be started: Error: spawn ENOMEM; the next starts in 0.5 s.',
    ]);
  });

  describe('of a process that takes no more jobs', () => {
    beforeEach(async () => {
      supervise();
      child().reports();
      await clock.advance('2s');
    });

    it.each(['memory', 'restart', 'stopped'] as const)(
      'starts the next at once (%s), beside its last jobs',
      (reason) => {
        child().drains(reason);

        expect(orders).toHaveLength(2);
        expect(log.messages('info')).toEqual([
          `Process 1 (pid 100) ends: ${REASONS[reason]}; the next starts now.`,
          'Process 1 (pid 101) started.',
        ]);
        expect(supervisor.health.processes.map(({ state }) => state)).toEqual(['starting', 'stopping']);
      },
    );

    it('says nothing more when that has ended', () => {
      child(0).drains('memory');
      child(1).reports();

      child(0).finishes('memory', 12);

      expect(log.lines).toHaveLength(2);
      expect(supervisor.health).toMatchObject({ ready: true, processes: [{ pid: 101 }] });
    });

    it('says that it died over its last jobs, and starts no second one for it', () => {
      child(0).drains('memory');

      child(0).dies('SIGKILL');

      expect(log.messages('warn')).toEqual(['Process 1 (pid 100) was ended by SIGKILL.']);
      expect(orders).toHaveLength(2);
    });

    it('never has three of them in one place', async () => {
      child(0).drains('memory');
      child(1).reports();
      await clock.advance('2s');
      child(1).drains('memory');
      expect(orders).toHaveLength(2);

      child(0).finishes('memory');

      expect(orders).toHaveLength(3);
    });

    it.each(['empty', 'max-jobs'] as const)('ends with it where it ends for good (%s)', async (reason) => {
      child().drains(reason);
      expect(orders).toHaveLength(1);

      child().finishes(reason);

      expect(await ended).toBe(0);
      expect(log.messages('info')).toEqual([`Process 1 (pid 100) has ended: ${REASONS[reason]}.`]);
    });
  });

  it('does not start processes without end that are too large from the start, and warns of the limit', async () => {
    supervise();
    child().finishes('memory', 12);
    expect(orders).toHaveLength(1);
    expect(log.messages('warn')).toEqual([
      'Process 1 (pid 100) ends: too large; the next starts in 0.5 s. ' +
        'It has worked for less than a second: the limit is too low for it.',
    ]);

    await clock.advance('500ms');
    child().finishes('memory', 12);
    await clock.advance('999ms');
    expect(orders).toHaveLength(2);
    await clock.advance('1ms');
    expect(orders).toHaveLength(3);
  });

  it('ends when the last of its processes has ended for good, and replaces one that has died until then', async () => {
    supervise({ processes: 2 });
    child(0).reports();
    child(1).reports();

    child(0).finishes('max-jobs');
    child(1).dies('SIGKILL');
    await clock.advance('500ms');
    expect(orders.map(({ number }) => number)).toEqual([1, 2, 2]);
    child(2).finishes('max-jobs');

    expect(await ended).toBe(0);
  });

  describe('tells processes that are started after one has died at work that something is still reserved,', () => {
    const toldAfterCrash = (): boolean[] => orders.map(({ afterCrash }) => afterCrash);

    it('in its own place and in others', async () => {
      supervise({ processes: 2 });
      child(0).reports();
      child(1).reports();
      await clock.advance('2s');

      child(0).dies('SIGKILL');
      child(1).drains('restart');
      await clock.advance('500ms');

      expect(toldAfterCrash()).toEqual([false, false, true, true]);
    });

    it('also where that was to finish its last jobs only', async () => {
      supervise();
      child().reports();
      await clock.advance('2s');
      child(0).drains('memory');
      child(1).reports();

      child(0).dies('SIGKILL');
      await clock.advance('2s');
      child(1).drains('memory');

      expect(toldAfterCrash()).toEqual([false, false, true]);
    });
  });

  it('replaces a process whose slots are all held for good', () => {
    supervise();
    child().reports();

    child().drains('stuck');

    expect(orders).toHaveLength(1);
    expect(log.messages('info')).toEqual(['Process 1 (pid 100) ends: stuck; the next starts in 0.5 s.']);
  });

  describe('with limits of time', () => {
    it('replaces a process that has worked for as long as one may', async () => {
      supervise({ recycle: 60, maxTime: 100 });
      child().reports();
      expect(orders[0]).toMatchObject({ maxTime: 60 });
      await clock.advance('60s');

      child().drains('max-time');

      expect(orders[1]).toMatchObject({ maxTime: 40 });
      expect(log.messages('info')[0]).toBe('Process 1 (pid 100) ends: old; the next starts now.');
    });

    it('ends when the time of all is over', async () => {
      supervise({ recycle: 60, maxTime: 30 });
      child().reports();
      await clock.advance('30s');

      child().finishes('max-time');

      expect(await ended).toBe(0);
      expect(log.messages('info')).toEqual(['Process 1 (pid 100) has ended: max-time.']);
    });

    it('starts no process when the time is over in a pause', async () => {
      supervise({ maxTime: 10 });
      child().reports();
      await clock.advance('9900ms');

      child().dies('SIGKILL');
      await clock.advance('500ms');

      expect(await ended).toBe(0);
      expect(orders).toHaveLength(1);
    });
  });

  describe('that is told to stop', () => {
    beforeEach(async () => {
      supervise({ processes: 2 });
      child(0).reports();
      child(1).reports();
      await clock.advance('2s');
    });

    it('passes the signal on to all, also to one that finishes its last jobs, and ends with them', async () => {
      child(0).drains('memory');
      supervisor.stop('SIGINT');
      expect(children.map(({ told }) => told)).toEqual([['SIGINT'], ['SIGINT'], ['SIGINT']]);

      child(0).finishes('memory', 12);
      child(1).finishes('stopped');
      // It was still being loaded.
      child(2).dies('SIGINT');

      expect(await ended).toBe(0);
      expect(orders).toHaveLength(3);
    });

    it('kills what has not ended at the deadline, and ends with a code that says so', async () => {
      supervisor.stop('SIGTERM');
      child(0).finishes('stopped');
      await clock.advance('39s');
      expect(child(1).told).toEqual(['SIGTERM']);
      await clock.advance('1s');
      expect(child(1).told).toEqual(['SIGTERM', 'SIGKILL']);

      child(1).dies('SIGKILL');

      expect(await ended).toBe(70);
      expect(log.messages('error')).toEqual([
        expect.stringContaining('did not end when it was told to, and was killed'),
      ]);
    });

    it('does not wait for a process that the system cannot end', async () => {
      supervisor.stop('SIGTERM');
      await clock.advance('41s');

      expect(await ended).toBe(70);
    });

    it('has all end at once when it is hurried, and kills what remains after a second', async () => {
      supervisor.stop('SIGTERM');
      supervisor.hasten(143);
      expect(child(0).told).toEqual(['SIGTERM', { onqueue: 'end', code: 143 }]);
      child(0).dies(143);
      await clock.advance('1s');
      expect(child(1).told).toContain('SIGKILL');
      child(1).dies('SIGKILL');

      await ended;
      expect(log.messages('warn')).toEqual([]);
    });

    it('tells of a process that died instead of stopping, and ends with its code', async () => {
      supervisor.stop('SIGTERM');
      child(0).finishes('stopped');

      child(1).dies('SIGSEGV');

      expect(await ended).toBe(139);
      expect(log.messages('warn')).toEqual(['Process 2 (pid 101) was ended by SIGSEGV.']);
    });

    it('starts none in place of one that died before', async () => {
      child(0).dies('SIGKILL');

      supervisor.stop('SIGTERM');
      child(1).finishes('stopped');

      expect(await ended).toBe(0);
      await clock.advance('1m');
      expect(orders).toHaveLength(2);
    });
  });

  it('hears what a process says after it is known to have ended', async () => {
    supervise();
    child().reports();
    child().emit('exit', 0, null);

    child().reports({ state: 'stopped', reason: 'empty' });
    child().connected = false;
    child().emit('disconnect');

    expect(await ended).toBe(0);
  });

  it('takes no notice of what jobs send over the channel', () => {
    supervise({ processes: 2 });

    child().emit('message', 'ready');
    child().emit('message', { onqueue: 'greeting', health: 'fine' });

    expect(orders).toHaveLength(1);
  });
});
