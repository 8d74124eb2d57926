import { connectMemory } from '../../src/connections/memory/connection';
import { Job } from '../../src/job/job';
import type { Connection, ReserveReply, Settlement, SettleResult, Wanted } from '../../src/connections/contract';
import { NOTHING, settledThen } from '../../src/connections/kit/connection';
import { LeaseRenewal, type Held } from '../../src/worker/lease/renewal';
import { Worker } from '../../src/worker/worker';
import { elapse, Gate, testApplication, until, type TestApplication } from '../support/application';
import { reserveFrom, settleIn } from '../support/exchange';

/** Stopped while the store hands it a job. */
let stopAtReserve: Worker | undefined;
let application: TestApplication;
let connection: Connection;
let ran: string[];
/** Whether the silent part of the store answers settlements. */
let isOpen: boolean;
let refusal: Error | undefined;
let asked: number;
let renewed: number;
/** While `isMute`, the silent part hands out nothing and answers renewals only when this gate opens. */
let mute: Gate;
let isMute: boolean;
/** The error of every reserve, if any. */
let reserveRefusal: Error | undefined;
/** Whether pushes wake nobody. */
let isDeaf: boolean;

@Job()
class Note extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(this.text);
  }
}

/** Makes the store refuse reserves from its end on. */
@Job()
class Ends extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    reserveRefusal = new Error('refused');
  }
}

/** A store that accepts outcomes of queue `silent` only when a test opens a gate, and others at once. */
function halfSilent(whole: Connection): Connection {
  const settle = async (settlement: Settlement): Promise<SettleResult> => {
    if (settlement.reservation.queue !== 'silent') return (await settleIn(whole, [settlement]))[0]!;
    asked += 1;
    if (!isOpen) return 'unanswered';
    if (refusal !== undefined && settlement.outcome === 'completed') throw refusal;
    return (await settleIn(whole, [settlement]))[0]!;
  };
  const reserve = async (wanted: Wanted): Promise<ReserveReply> => {
    if (isDeaf && wanted.within !== undefined) {
      await new Promise<void>((resolve) => wanted.signal!.addEventListener('abort', () => resolve()));
      return { reservations: [], setAside: [], nextIn: Infinity };
    }
    if (reserveRefusal !== undefined) throw reserveRefusal;
    if (!isMute) {
      const reply = await reserveFrom(whole, wanted);
      if (reply.reservations.length > 0) void stopAtReserve?.stop();
      return reply;
    }
    const queues = wanted.queues.filter((queue) => queue !== 'silent');
    const reply = await reserveFrom(whole, { ...wanted, queues });
    const paused = (await whole.control!.paused())
      .map(({ queue }) => queue)
      .filter((queue) => wanted.queues.includes(queue));
    return { ...reply, paused, nextIn: Math.min(reply.nextIn, 1) };
  };
  const own: Partial<Connection> = {
    exchange: async (settlements, wanted) => {
      const results: SettleResult[] = [];
      for (const settlement of settlements) results.push(await settle(settlement));
      if (wanted === undefined) return { ...NOTHING, results };
      return settledThen(results, () => reserve(wanted));
    },
    renew: async (reservations, lease) => {
      const isSilent = reservations[0]!.queue === 'silent';
      if (isSilent) renewed += reservations.length;
      if (isMute && isSilent) await mute.opened;
      return whole.renew!(reservations, lease);
    },
  };
  return new Proxy(whole, {
    get(target, property): unknown {
      const value: unknown = Reflect.get(own, property) ?? Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

beforeEach(() => {
  ran = [];
  isOpen = false;
  asked = 0;
  mute = new Gate();
  isMute = false;
  isDeaf = false;
  stopAtReserve = undefined;
  refusal = reserveRefusal = undefined;
  renewed = 0;
  application = testApplication();
  application.manager.addConnector('memory', (config, context) => halfSilent(connectMemory(config, context)));
  connection = application.manager.driver();
});

afterEach(async () => {
  jest.restoreAllMocks();
  isOpen = true;
  mute.open();
  await application.manager.close();
});

async function work(stopWhenEmpty = false): Promise<{ worker: Worker; ended: Promise<unknown> }> {
  await application.bus.dispatch(new Note('waits')).onQueue('silent');
  const worker = new Worker({ queue: ['silent', 'open'], stopWhenEmpty }, application.manager);
  const ended = worker.run();
  await untilRan('waits');
  return { worker, ended };
}

/** The silent part of the store answers again: what it left unanswered is sent again within a second. */
async function answer(): Promise<void> {
  isOpen = true;
  await elapse(application.clock, 1);
}

const untilRan = (text: string): Promise<void> => until(application.clock, () => ran.includes(text));
const reserved = async (queue: string): Promise<number> => (await connection.queues.counts(queue)).reserved;

describe('an outcome that one server of a divided store leaves unanswered', () => {
  it('does not hold up other jobs, keeps its lease, and counts once it is written', async () => {
    const { worker, ended } = await work();
    const told: string[] = [];
    application.manager.hooks.on('after', ({ job }) => void told.push(job.queue));
    await application.bus.dispatch(new Note('other')).onQueue('open');
    await untilRan('other');
    await elapse(application.clock, 40);
    expect([await reserved('open'), told, renewed > 0]).toEqual([0, ['open'], true]);

    await answer();
    await until(application.clock, () => told.length === 2);

    expect([await reserved('silent'), ran]).toEqual([0, ['waits', 'other']]);
    expect(worker.health().outcomes).toMatchObject({ completed: 2, lost: 0 });
    await worker.stop();
    await ended;
  });

  it('is written again when the worker stops, also for a job that it had not started', async () => {
    const worker = new Worker({ queue: ['silent', 'open'] }, application.manager);
    stopAtReserve = worker;
    await application.bus.dispatch(new Note('never')).onQueue('silent');
    const ended = worker.run();
    await until(application.clock, () => asked > 0);
    expect(await reserved('silent')).toBe(1);

    await answer();
    await elapse(application.clock, 1);
    await ended;

    expect(ran).toEqual([]);
    expect(await connection.queues.counts('silent')).toMatchObject({ ready: 1, reserved: 0 });
  });

  it('becomes a failure if the store refuses it in the end', async () => {
    const { worker, ended } = await work();
    refusal = new Error('refused');
    await answer();

    await until(application.clock, () => worker.health().outcomes.failed === 1);
    expect([await reserved('silent'), ran]).toEqual([0, ['waits']]);
    await worker.stop();
    await ended;
  });

  it('is settled once even if the reserve in the same step fails', async () => {
    const { worker, ended } = await work();
    await answer();
    await until(application.clock, () => worker.health().outcomes.completed === 1);
    await application.bus.dispatch(new Ends('ends')).onQueue('open');
    await until(application.clock, () => worker.health().outcomes.completed === 2);
    await elapse(application.clock, 20);
    reserveRefusal = undefined;
    await elapse(application.clock, 5);

    expect(worker.health().outcomes).toMatchObject({ completed: 2, lost: 0 });
    expect(application.log.messages('error')).toHaveLength(1);
    await worker.stop();
    await ended;
  });

  it('keeps a worker with stopWhenEmpty running', async () => {
    const { worker, ended } = await work(true);
    await elapse(application.clock, 10);
    expect(worker.health().state).not.toBe('stopped');

    await answer();
    await expect(ended).resolves.toBe('empty');
    expect(await reserved('silent')).toBe(0);
  });

  it('does not make a paused queue seem resumed while it is left out of reserves', async () => {
    const { worker, ended } = await work();
    await connection.control!.pause('silent');
    await elapse(application.clock, 5);
    isMute = true;
    expect(worker.health().paused).toEqual(['silent']);

    await elapse(application.clock, 45);
    expect(worker.health().paused).toEqual(['silent']);
    expect(application.log.messages('info').join()).not.toContain('goes on');
    await answer();
    await worker.stop();
    await ended;
  });

  it('leaves its queue out of reserves until the lease is renewed, and then asks it at once', async () => {
    const { worker, ended } = await work();
    isMute = isDeaf = true;
    await elapse(application.clock, 45);
    isMute = false;
    await application.bus.dispatch(new Note('next')).onQueue('silent');
    await elapse(application.clock, 2);
    expect(ran).not.toContain('next');

    mute.open();
    await untilRan('next');
    await answer();
    await worker.stop();
    await ended;
  });

  it('adds one listener to a pending renewal, however many reserves go on without its queue', async () => {
    const { worker, ended } = await work();
    let listeners = 0;
    const { renewEnded } = LeaseRenewal.prototype;
    jest.spyOn(LeaseRenewal.prototype, 'renewEnded').mockImplementation(function (this: LeaseRenewal<Held>) {
      const renewals = renewEnded.call(this);
      for (const renewal of renewals?.values() ?? []) {
        if (Object.hasOwn(renewal, 'then')) continue;
        const { then } = renewal;
        renewal.then = function (...args) {
          listeners += 1;
          return then.apply(this, args) as never;
        };
      }
      return renewals;
    });
    isMute = true;
    await elapse(application.clock, 45);
    const before = listeners;
    await elapse(application.clock, 45);

    expect([before, listeners]).toEqual([1, 1]);
    mute.open();
    await answer();
    await worker.stop();
    await ended;
  });

  it('is given up at the end of the grace and logged as not stored', async () => {
    const { worker, ended } = await work();
    const stopped = worker.stop();
    await elapse(application.clock, 6);
    await stopped;

    await expect(ended).resolves.toBe('stopped');
    expect(application.log.messages('error').join()).toContain(
      '1 had ended, but their outcomes were not stored (the store has not answered)',
    );
  });
});
