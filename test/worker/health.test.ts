import { Job } from '../../src/job/job';
import type { Timer } from '../../src/base/clock';
import { LoopLag } from '../../src/worker/health';
import { Worker } from '../../src/worker/worker';
import { elapse, Gate, until as untilOn } from '../support/application';
import { faultyApplication, type FaultyApplication } from '../faults/faulty-connection';

let application: FaultyApplication;
let gate: Gate;
let started: number;
let worker: Worker;

beforeEach(() => {
  application = faultyApplication();
  gate = new Gate();
  started = 0;
  worker = new Worker({ concurrency: 1 }, application.manager);
});

afterEach(async () => {
  gate.open();
  await worker.stop();
  await application.manager.close();
});

@Job({ tries: 2, backoff: 60 })
class Gated extends Job {
  constructor(readonly throws = false) {
    super();
  }
  async handle(): Promise<void> {
    started += 1;
    await gate.opened;
    if (this.throws) throw new Error('no');
  }
}

const until = (condition: () => boolean): Promise<void> => untilOn(application.clock, condition);

describe('the health of a worker', () => {
  it('can be read before it runs, while it runs and after it has stopped', async () => {
    expect(worker.health()).toMatchObject({ state: 'new', live: true, ready: false, queues: [], lastPoll: undefined });
    void worker.run();
    await until(() => worker.health().ready);
    expect(worker.health()).toMatchObject({
      state: 'running',
      live: true,
      ready: true,
      connection: 'memory',
      queues: ['default'],
      sinceLastPoll: 0,
      running: 0,
      leasesAtRisk: 0,
    });
    await worker.stop();
    expect(worker.health()).toMatchObject({ state: 'stopped', ready: false });
  });

  it('is live from the start, before the store has answered for the first time', async () => {
    application.faults.next('reserve', { kind: 'hold', until: gate.opened });
    void worker.run();
    await until(() => worker.health().state === 'running');
    expect(worker.health()).toMatchObject({ live: true, ready: false, lastPoll: undefined });
    await elapse(application.clock, 34);

    expect(worker.health()).toMatchObject({ live: false, ready: false });
  });

  it('shows that it is stopping while jobs still run', async () => {
    await application.bus.dispatch(new Gated());
    void worker.run();
    await until(() => started === 1);
    void worker.stop();
    await until(() => worker.health().state === 'stopping');

    expect(worker.health()).toMatchObject({ live: true, ready: false, running: 1 });
  });

  it('counts how runs ended', async () => {
    await application.bus.bulk([new Gated(), new Gated(true)]);
    gate.open();
    void worker.run();
    await until(() => worker.health().outcomes.released === 1);
    expect(worker.health().outcomes).toEqual({ completed: 1, released: 1, failed: 0, cancelled: 0, lost: 0 });
    await application.clock.advance('60s');
    await until(() => worker.health().outcomes.failed === 1);
  });

  it('is live but not ready while the store does not answer, and recovers with it', async () => {
    void worker.run();
    await until(() => worker.health().ready);
    const away = { kind: 'reject', error: new Error('away') } as const;
    application.faults.next('reserve', away, away, away);
    await application.clock.advance('2s');
    await until(() => !worker.health().ready);

    expect(worker.health().live).toBe(true);
    await elapse(application.clock, 10);
    expect(worker.health().ready).toBe(true);
  });

  it('is not live when its call to the store has been unanswered for long without a known outage', async () => {
    void worker.run();
    await until(() => worker.health().ready);
    application.faults.next('reserve', { kind: 'hold', until: gate.opened });
    await elapse(application.clock, 30);
    expect(worker.health().live).toBe(true);
    await elapse(application.clock, 4);

    expect(worker.health()).toMatchObject({ live: false, ready: false });
  });

  it('is live but not ready when the store has not answered for long and the driver reports an outage', async () => {
    void worker.run();
    await until(() => worker.health().ready);
    application.faults.next('reserve', { kind: 'hold', until: gate.opened });
    Object.assign(application.connection, { isAway: true });
    await elapse(application.clock, 40);

    expect(worker.health()).toMatchObject({ live: true, ready: false });
  });

  it('stays live and ready while all its slots are busy for long', async () => {
    await application.bus.dispatch(new Gated().onQueue('default'));
    void worker.run();
    await until(() => started === 1);
    await elapse(application.clock, 45);

    expect(worker.health()).toMatchObject({ live: true, ready: true, running: 1 });
  });

  it('is ready again with the first successful renewal, even while all its slots are busy', async () => {
    await application.bus.dispatch(new Gated());
    void worker.run();
    await until(() => started === 1);
    const away = { kind: 'reject', error: new Error('away') } as const;
    application.faults.next('renew', away, away);
    await elapse(application.clock, 20);

    expect(application.faults.calls.filter((call) => call === 'renew')).toHaveLength(3);
    expect(worker.health()).toMatchObject({ ready: true, running: 1 });
    expect(application.log.messages('info')).toContainEqual(expect.stringContaining('answers again'));
  });

  it('counts leases that are more than half over', async () => {
    await application.bus.dispatch(new Gated());
    void worker.run();
    await until(() => started === 1);
    const away = { kind: 'reject', error: new Error('away') } as const;
    application.faults.next('renew', ...Array.from({ length: 50 }, () => away));
    await elapse(application.clock, 14);
    expect(worker.health().leasesAtRisk).toBe(0);
    await elapse(application.clock, 2);

    expect(worker.health().leasesAtRisk).toBe(1);
  });

  it('leaves no timer behind if the worker could not start', async () => {
    const error = new Error('the tables are newer');
    Object.assign(application.connection, { migrations: { check: () => Promise.reject(error) } });
    const { pending } = application.clock;

    await expect(new Worker({}, application.manager).run()).rejects.toBe(error);
    expect(application.clock.pending).toBe(pending);
  });

  it('includes the lag of the event loop', () => {
    const beats: (() => void)[] = [];
    let now = 0;
    const after = (_: number, beat: () => void): Timer => ({ cancel: () => undefined, ...{ at: beats.push(beat) } });
    const lag = new LoopLag({ now: () => now, monotonic: () => now, after });

    lag.beat();
    now = 1250;
    expect(lag.now).toBe(250);
    beats.shift()?.();
    expect(lag.now).toBe(250);
    now = 2250;
    beats.shift()?.();
    expect(lag.now).toBe(0);
  });
});
