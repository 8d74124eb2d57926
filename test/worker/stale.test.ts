/** Workers that were frozen: their jobs may have been handed to another worker without their knowledge. */
import { connectMemory, type MemoryConnection } from '../../src/connections/memory/connection';
import { Job } from '../../src/job/job';
import type { Connection, Reservation } from '../../src/connections/contract';
import { Worker } from '../../src/worker/worker';
import { Gate, testApplication, until, type TestApplication } from '../support/application';
import { reserveFrom, settleIn } from '../support/exchange';

let application: TestApplication;
let store: MemoryConnection;
let worker: Worker;
let ended: Promise<unknown>;
let ran: string[];
/** While one of these gates is closed, the worker does not get the reply to that call. */
let frozen: { reserve?: Gate; renew?: Gate; settle?: Gate };

@Job({ name: 'stale:Work', timeout: 0 })
class Work extends Job {
  constructor(readonly fails = false) {
    super();
  }
  handle(): void {
    ran.push(this.signal.aborted ? 'aborted' : 'whole');
    if (this.fails) throw new Error('it failed');
  }
}

/** The connection of a process that can be frozen between a call and its reply. */
function freezable(whole: MemoryConnection, keepsFailed: boolean): Connection {
  const own: Partial<Connection> = {
    exchange: async (settlements, wanted) => {
      if (settlements.length > 0) await frozen.settle?.opened;
      const settled = await whole.exchange(settlements, wanted);
      if (wanted !== undefined) await frozen.reserve?.opened;
      return settled;
    },
    renew: async (reservations, lease) => {
      await frozen.renew?.opened;
      return whole.renew(reservations, lease);
    },
  };
  return new Proxy(whole as Connection, {
    get(target, property): unknown {
      if (property === 'failed' && !keepsFailed) return undefined;
      const value: unknown = Reflect.get(own, property) ?? Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function given(job: Work, { keepsFailed = true } = {}): Promise<void> {
  const connections = { memory: { driver: 'memory', retryAfter: 30 }, archive: { driver: 'memory' } } as const;
  application = testApplication({ connections, default: 'memory', failed: 'archive' });
  application.manager.addConnector('memory', (config, context) => {
    const whole = connectMemory(config, context);
    if (context.name === 'archive') return whole;
    store = whole;
    return freezable(whole, keepsFailed);
  });
  await application.bus.dispatch(job);
  worker = new Worker({ grace: 5 }, application.manager);
  ended = worker.run();
}

beforeEach(() => {
  ran = [];
  frozen = {};
});

afterEach(async () => {
  for (const gate of Object.values(frozen)) gate.open();
  await worker.stop();
  await ended;
  await application.manager.close();
});

const settled = (condition: () => boolean) => until(application.clock, condition);
/** The reservation of another worker, made when the lease of the frozen one has ended. */
async function takenByAnother(): Promise<Reservation> {
  await application.clock.advance('31s');
  const { reservations } = await reserveFrom(store, { queues: ['default'], limit: 1, lease: 600 });
  return reservations[0]!;
}
const completeBy = (reservation: Reservation) => settleIn(store, [{ outcome: 'completed', reservation }]);
const failBy = (reservation: Reservation, exception: string) =>
  application.manager.driver('archive').failed!.put({
    id: (JSON.parse(String(reservation.payload)) as { id: string }).id,
    name: 'stale:Work',
    connection: 'memory',
    queue: 'default',
    payload: reservation.payload,
    exception,
    attempts: 1,
  });
const failures = async () => (await application.manager.failed.list()).map(({ exception }) => exception);

describe('a job reserved by a worker that was then frozen for longer than the lease', () => {
  beforeEach(() => {
    frozen.reserve = new Gate();
  });

  it('does not start if another worker has it', async () => {
    await given(new Work());
    await settled(() => store.snapshot().queues.get('default')?.reserved.length === 1);
    const others = await takenByAnother();

    frozen.reserve!.open();
    await settled(() => worker.health().outcomes.lost === 1);

    expect(ran).toEqual([]);
    expect(await completeBy(others)).toEqual(['settled']);
  });

  it('is renewed and then starts, without being aborted, if no other worker has it', async () => {
    await given(new Work());
    await settled(() => store.snapshot().queues.get('default')?.reserved.length === 1);
    await application.clock.advance('31s');

    frozen.reserve!.open();
    await settled(() => worker.health().outcomes.completed === 1);

    expect(ran).toEqual(['whole']);
    expect(worker.health().outcomes.lost).toBe(0);
  });

  it('does not start until the store has answered the renewal, and goes back when its worker stops', async () => {
    frozen.renew = new Gate();
    await given(new Work());
    await settled(() => store.snapshot().queues.get('default')?.reserved.length === 1);
    await application.clock.advance('31s');
    frozen.reserve!.open();
    await application.clock.advance('10s');
    expect([ran, worker.health().running]).toEqual([[], 1]);

    void worker.stop();
    await application.clock.advance('6s');
    await ended;

    expect(ran).toEqual([]);
    expect(await store.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
  });
});

describe('a failure on a frozen worker, on a connection whose failed jobs are kept elsewhere', () => {
  it('is not kept if another worker has the job', async () => {
    frozen.renew = new Gate();
    await given(new Work(true), { keepsFailed: false });
    await settled(() => ran.length === 1);
    const others = await takenByAnother();
    const put = jest.spyOn(application.manager.driver('archive').failed!, 'put');

    frozen.renew.open();
    await settled(() => worker.health().outcomes.lost === 1);

    expect(put).not.toHaveBeenCalled();
    expect(await completeBy(others)).toEqual(['settled']);
  });

  it('is removed again if another worker got the job after it was kept', async () => {
    frozen.settle = new Gate();
    await given(new Work(true), { keepsFailed: false });
    await until(application.clock, async () => (await failures()).length === 1);
    frozen.renew = new Gate();
    const others = await takenByAnother();

    frozen.settle.open();
    await until(application.clock, async () => (await failures()).length === 0);

    expect(await completeBy(others)).toEqual(['settled']);
  });

  it('neither replaces nor removes the failure that the next worker has kept', async () => {
    frozen.settle = new Gate();
    await given(new Work(true), { keepsFailed: false });
    await until(application.clock, async () => (await failures()).length === 1);
    frozen.renew = new Gate();
    const others = await takenByAnother();
    await failBy(others, 'Error: of the other');
    await completeBy(others);

    frozen.settle.open();
    await settled(() => worker.health().outcomes.lost === 1);

    expect(await failures()).toEqual(['Error: of the other']);
  });
});
