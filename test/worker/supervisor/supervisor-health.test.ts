import type { TestClock } from '../../../src/testing/test-clock';
import type { Supervisor } from '../../../src/worker/supervisor/supervisor';
import type { FakeChild } from '../../support/fake-child';
import { SupervisedWorld } from '../../support/supervised-world';

let clock: TestClock;
let children: FakeChild[];
let supervisor: Supervisor;
let supervise: (settings?: { readonly processes: number }) => void;

beforeEach(() => {
  const world = new SupervisedWorld();
  ({ clock, children } = world);
  supervise = (settings) => {
    supervisor = world.supervisor(settings);
    void supervisor.run();
  };
});

function child(index = 0): FakeChild {
  return children[index]!;
}

describe('the health of supervised processes', () => {
  it('is that of the worst of them', () => {
    supervise({ processes: 2 });
    child(0).reports();
    expect(supervisor.health).toMatchObject({ live: true, ready: false });

    child(1).reports();
    expect(supervisor.health).toMatchObject({ live: true, ready: true });
    child(1).reports({ ready: false });
    expect(supervisor.health).toMatchObject({ live: true, ready: false });
    child(1).reports({ live: false });
    expect(supervisor.health).toMatchObject({ live: false, ready: true });
  });

  it('treats a process that is silent for more than 5 s as stuck', async () => {
    supervise();
    child().reports();

    await clock.advance('5s');
    expect(supervisor.health.live).toBe(true);
    await clock.advance('1ms');
    expect(supervisor.health).toMatchObject({ live: false, ready: false, processes: [{ silence: 5.001 }] });
  });

  it('gives a starting process a minute', async () => {
    supervise();

    await clock.advance('60s');
    expect(supervisor.health).toMatchObject({ live: true, ready: false, processes: [{ state: 'starting' }] });
    await clock.advance('1ms');
    expect(supervisor.health.live).toBe(false);
  });

  it('does not treat a process as stuck that is about to be started again', async () => {
    supervise();
    child().reports();

    child().dies('SIGKILL');

    expect(supervisor.health).toMatchObject({ live: true, ready: false, processes: [{ state: 'waiting', starts: 1 }] });
  });

  it('is not ready when it stops', () => {
    supervise();
    child().reports();

    supervisor.stop('SIGTERM');

    expect(supervisor.health).toMatchObject({ live: true, ready: false });
  });
});

describe('the counts of supervised processes', () => {
  it('are added up and stay when a process dies', () => {
    supervise({ processes: 2 });
    const counted = (completed: number) => [{ connection: 'redis', queue: 'mail', job: 'A', counts: { c: completed } }];
    child(0).reports({}, [], counted(2));
    child(1).reports({}, [], counted(3));
    child(1).dies('SIGKILL');
    child(0).reports({}, [], counted(1));
    child(0).reports();
    child(1).reports({}, [], counted(100));

    expect(supervisor.counts).toEqual(counted(6));
  });
});
