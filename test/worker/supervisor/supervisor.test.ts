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

/** A child, by default the one that was started last. */
function child(index = -1): FakeChild {
  return children.at(index)!;
}

describe('a supervisor', () => {
  it('starts the other processes once the first one works', () => {
    supervise({ processes: 3 });
    expect(orders).toEqual([{ number: 1, opened: false, afterCrash: false, maxTime: Infinity }]);

    child(0).reports();

    expect(orders.slice(1)).toEqual([
      { number: 2, opened: true, afterCrash: false, maxTime: Infinity },
      { number: 3, opened: true, afterCrash: false, maxTime: Infinity },
    ]);
  });

  it('ends with the code of a first process that could not start, and starts no others', async () => {
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
      'starts the next one at once (%s), beside its last jobs',
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

    it('logs nothing more when that process has ended', () => {
      child(0).drains('memory');
      child(1).reports();

      child(0).finishes('memory', 12);

      expect(log.lines).toHaveLength(2);
      expect(supervisor.health).toMatchObject({ ready: true, processes: [{ pid: 101 }] });
    });

    it('logs that the process died during its last jobs, and starts no second replacement', () => {
      child(0).drains('memory');

      child(0).dies('SIGKILL');

      expect(log.messages('warn')).toEqual(['Process 1 (pid 100) was ended by SIGKILL.']);
      expect(orders).toHaveLength(2);
    });

    it('never runs three processes in one place', async () => {
      child(0).drains('memory');
      child(1).reports();
      await clock.advance('2s');
      child(1).drains('memory');
      expect(orders).toHaveLength(2);

      child(0).finishes('memory');

      expect(orders).toHaveLength(3);
    });

    it.each(['empty', 'max-jobs'] as const)('ends together with a process that ends for good (%s)', async (reason) => {
      child().drains(reason);
      expect(orders).toHaveLength(1);

      child().finishes(reason);

      expect(await ended).toBe(0);
      expect(log.messages('info')).toEqual([`Process 1 (pid 100) has ended: ${REASONS[reason]}.`]);
    });
  });

  it('pauses between processes that are too large from the start, and warns that the limit is too low', async () => {
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

  it('ends when its last process has ended for good, and replaces dead ones until then', async () => {
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

  describe('tells new processes that a dead one may have left reserved jobs,', () => {
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

    it('even if the dead one was finishing its last jobs', async () => {
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

  it('replaces a stuck process', () => {
    supervise();
    child().reports();

    child().drains('stuck');

    expect(orders).toHaveLength(1);
    expect(log.messages('info')).toEqual(['Process 1 (pid 100) ends: stuck; the next starts in 0.5 s.']);
  });

  describe('with limits of time', () => {
    it('replaces a process that has worked for as long as allowed', async () => {
      supervise({ recycle: 60, maxTime: 100 });
      child().reports();
      expect(orders[0]).toMatchObject({ maxTime: 60 });
      await clock.advance('60s');

      child().drains('max-time');

      expect(orders[1]).toMatchObject({ maxTime: 40 });
      expect(log.messages('info')[0]).toBe('Process 1 (pid 100) ends: old; the next starts now.');
    });

    it('ends when maxTime is over', async () => {
      supervise({ recycle: 60, maxTime: 30 });
      child().reports();
      await clock.advance('30s');

      child().finishes('max-time');

      expect(await ended).toBe(0);
      expect(log.messages('info')).toEqual(['Process 1 (pid 100) has ended: max-time.']);
    });

    it('starts no process if maxTime ends during a pause', async () => {
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

    it('passes the signal to all processes, even to one that finishes its last jobs, and ends with them', async () => {
      child(0).drains('memory');
      supervisor.stop('SIGINT');
      expect(children.map(({ told }) => told)).toEqual([['SIGINT'], ['SIGINT'], ['SIGINT']]);

      child(0).finishes('memory', 12);
      child(1).finishes('stopped');
      // This one was still loading.
      child(2).dies('SIGINT');

      expect(await ended).toBe(0);
      expect(orders).toHaveLength(3);
    });

    it('kills processes that have not ended at the deadline, and ends with a code that says so', async () => {
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

    it('makes all processes end at once when it is hurried, and kills the rest after a second', async () => {
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

    it('logs a process that died instead of stopping, and ends with its code', async () => {
      supervisor.stop('SIGTERM');
      child(0).finishes('stopped');

      child(1).dies('SIGSEGV');

      expect(await ended).toBe(139);
      expect(log.messages('warn')).toEqual(['Process 2 (pid 101) was ended by SIGSEGV.']);
    });

    it('does not replace a process that died before the stop', async () => {
      child(0).dies('SIGKILL');

      supervisor.stop('SIGTERM');
      child(1).finishes('stopped');

      expect(await ended).toBe(0);
      await clock.advance('1m');
      expect(orders).toHaveLength(2);
    });
  });

  it('reads messages of a process that arrive after its exit', async () => {
    supervise();
    child().reports();
    child().emit('exit', 0, null);

    child().reports({ state: 'stopped', reason: 'empty' });
    child().connected = false;
    child().emit('disconnect');

    expect(await ended).toBe(0);
  });

  it('ignores messages that jobs send over the channel', () => {
    supervise({ processes: 2 });

    child().emit('message', 'ready');
    child().emit('message', { onqueue: 'greeting', health: 'fine' });

    expect(orders).toHaveLength(1);
  });
});
