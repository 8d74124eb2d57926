/** A suite that lets a broken driver pass is worth nothing: each driver here breaks one promise of a good one. */
import { connectMemory } from '../../src/connections/memory/memory-connection';
import type { MemoryConnection } from '../../src/connections/memory/memory-connection';
import type { Connection, Entry, Reservation, ReserveReply } from '../../src/connections/contract';
import type { Control } from '../../src/connections/control';
import { conformance } from '../../src/testing/conformance';
import { TestClock } from '../../src/testing/test-clock';

type Fault = (good: MemoryConnection, clock: TestClock) => Partial<Connection>;

/** The good driver, but for the methods of the fault. */
function withFault(good: MemoryConnection, fault: Partial<Connection>): Connection {
  return new Proxy(good, {
    get(target, key) {
      if (Object.hasOwn(fault, key)) return fault[key as keyof Connection];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const casesOf = (fault: Fault) =>
  conformance(async () => {
    const clock = new TestClock();
    const good = connectMemory({ driver: 'memory' }, { name: 'memory', clock });
    const connection = withFault(good, fault(good, clock));
    return {
      connection,
      second: () => withFault(good, fault(good, clock)),
      advance: (seconds) => clock.advance(seconds),
      dispose: () => good.close(),
    };
  });

const editing = (edit: (reservation: Reservation) => Reservation): Fault => {
  return (good) => ({
    reserve: async (request) => {
      const reply = await good.reserve(request);
      return { ...reply, reservations: reply.reservations.map(edit) };
    },
  });
};

const replying = (change: (reply: ReserveReply) => Partial<ReserveReply>): Fault => {
  return (good) => ({
    reserve: async (request) => {
      const reply = await good.reserve(request);
      return { ...reply, ...change(reply) };
    },
  });
};

/** A driver that pushes something else than it was given. */
const pushing = (change: (entries: readonly Entry[]) => readonly Entry[]): Fault => {
  return (good) => ({ push: (queue, entries) => good.push(queue, change(entries)) });
};

/** A driver whose orders do something else. */
const ordering = (fault: (good: Control) => Partial<Control>): Fault => {
  return ({ control }) => ({
    control: {
      cancel: (id, queue) => control.cancel(id, queue),
      pause: (queue, seconds) => control.pause(queue, seconds),
      resume: (queue) => control.resume(queue),
      paused: () => control.paused(),
      restart: () => control.restart(),
      ...fault(control),
    },
  });
};

const FAULTS: readonly (readonly [harm: string, promise: string, fault: Fault])[] = [
  [
    'hands jobs out in reverse',
    'jobs come out in the order in which they went in',
    replying(({ reservations }) => ({ reservations: reservations.toReversed() })),
  ],
  [
    'ignores the limit',
    'a reserve hands out no more than its limit, and says that jobs are left',
    (good) => ({ reserve: (request) => good.reserve({ ...request, limit: 100 }) }),
  ],
  [
    'ignores the order of the queues',
    'several queues are emptied strictly in the order in which they are named',
    (good) => ({ reserve: (request) => good.reserve({ ...request, queues: request.queues.toReversed() }) }),
  ],
  [
    'forgets when to look again',
    'a delayed job is not handed out before its moment, and says when to look again',
    replying(() => ({ nextIn: Infinity })),
  ],
  [
    'ignores delays',
    'a delayed job is not handed out before its moment, and says when to look again',
    pushing((entries) => entries.map(({ payload }) => ({ payload }))),
  ],
  [
    'cuts fractions off delays',
    'a fraction of a second is part of a delay',
    pushing((entries) => entries.map((entry) => ({ ...entry, delay: Math.floor(entry.delay ?? 0) }))),
  ],
  [
    'lets a delayed text be replaced',
    'a text that must be unique is refused while it waits as delayed, and nothing changes',
    pushing((entries) => entries.map((entry) => ({ ...entry, distinct: false }))),
  ],
  [
    'says settled whatever happened',
    'a reservation that was completed cannot end a second time, and trying changes nothing (by settle)',
    (good) => ({
      settle: async (settlements) => {
        await good.settle(settlements);
        return settlements.map(() => 'settled');
      },
    }),
  ],
  [
    'puts a job back that it does not hold',
    'a holder that was too late cannot complete, release, fail or renew the job that another has now',
    (good) => ({
      renew: async (reservations) => {
        await good.push(
          'probes',
          reservations.map(({ payload }) => ({ payload: payload.toString() })),
        );
        return reservations.map(() => 'lost');
      },
    }),
  ],
  [
    'answers in another order than it was asked',
    'a call settles many reservations, and answers for each in its place (by settle)',
    (good) => ({ settle: async (settlements) => (await good.settle(settlements)).toSorted() }),
  ],
  [
    'reserves before it settles',
    'a settle and the reserve after it see one another: what was released can be had again',
    (good) => ({
      settleAndReserve: async (settlements, request) => {
        const reply = await good.reserve(request);
        return { results: await good.settle(settlements), reply };
      },
    }),
  ],
  [
    'does not renew',
    'a renewed lease starts anew: the job stays with its holder past the first end, and no further than the new',
    () => ({ renew: async (reservations) => reservations.map(() => 'renewed') }),
  ],
  [
    'encodes payloads anew',
    'a payload keeps every byte through all states: numbers of 20 digits',
    pushing((entries) => entries.map((entry) => ({ ...entry, payload: JSON.stringify(JSON.parse(entry.payload)) }))),
  ],
  [
    'counts no attempts',
    'a reservation carries its queue, and its text with this attempt counted',
    editing((reservation) => ({ ...reservation, counters: { ...reservation.counters, attempts: 0 } })),
  ],
  [
    'makes one job of two alike',
    'the same text pushed twice is two jobs, which end each by itself',
    pushing((entries) => [...new Set(entries.map((entry) => entry.payload))].map((payload) => ({ payload }))),
  ],
  [
    'drops what it cannot read without a word',
    'what is no JSON object is set aside with its bytes and a reason, and the jobs around it run',
    replying(() => ({ setAside: [] })),
  ],
  [
    'counts what runs as ready',
    'the jobs of a queue are counted by state',
    (good) => ({
      counts: async (queue) => {
        const { ready, delayed, reserved } = await good.counts(queue);
        return { ready: ready + reserved, delayed, reserved: 0 };
      },
    }),
  ],
  [
    'takes what it shows',
    'looking changes nothing',
    (good) => ({
      peek: async (queue, state, limit) => {
        const jobs = await good.peek(queue, state, limit);
        await good.reserve({ queues: [queue], limit, lease: 60 });
        return jobs;
      },
    }),
  ],
  [
    'clears the failed jobs as well',
    'clearing leaves the failed jobs',
    (good) => ({
      clear: async (queue) => {
        await good.failed.flush(queue);
        return good.clear(queue);
      },
    }),
  ],
  [
    'works on when it is closed',
    'a closed connection refuses whatever is asked of it',
    () => ({ close: async () => undefined }),
  ],
  [
    'declares what it cannot do',
    'a driver has a failed store, a lock store, a batch store and a control exactly where it declares them',
    () => ({ locks: undefined }),
  ],
  [
    'gives a lock to everybody',
    'a lock has one owner at a time, also among clients that ask at once',
    () => ({
      locks: { acquire: async () => true, renew: async () => true, release: async () => true },
    }),
  ],
  [
    'says that it cancelled, and does nothing',
    'a ready job that is cancelled never runs, and those around it do',
    ordering(() => ({ cancel: async () => 'removed' })),
  ],
  [
    'cancels whatever stands first',
    'a ready job that is cancelled never runs, and those around it do',
    (good, clock) =>
      ordering((control) => ({
        cancel: async () => {
          const [first] = await good.peek('probes', 'ready', 1);
          return control.cancel((JSON.parse(String(first?.payload)) as { id: string }).id);
        },
      }))(good, clock),
  ],
  [
    'looks for an id in the whole text',
    'a job is known by its own id, wherever that stands, and not by what else its text holds',
    ordering((good) => ({ cancel: async (id) => good.cancel(id === 'inner' ? 'front' : id) })),
  ],
  [
    'forgets to tell the holder',
    'another client cancels a running job: its holder learns it by the next renewal, the others’ do not',
    (good) => ({
      renew: async (reservations, lease) =>
        (await good.renew(reservations, lease)).map((result) => (result === 'cancelled' ? 'renewed' : result)),
    }),
  ],
  [
    'forgets a cancellation when the job is given back',
    'a job that was cancelled while it ran, and is given back, is handed out as cancelled',
    editing((reservation) => ({ ...reservation, cancelled: undefined })),
  ],
  [
    'pauses for itself alone',
    'a pause is seen by every client of the store, in each of its reserves, and a resume as well',
    ordering(() => ({ pause: async () => true })),
  ],
  [
    'takes a pause for a time for one without an end',
    'a pause for a time is told with its end, and is over by itself, though nobody looked meanwhile',
    ordering((good) => ({ pause: (queue) => good.pause(queue) })),
  ],
  [
    'keeps the end of the pause before',
    'the last word says how long a queue is paused',
    ordering((good) => ({
      pause: async (queue, seconds) => {
        const isPaused = (await good.paused()).some((pause) => pause.queue === queue);
        return isPaused ? false : good.pause(queue, seconds);
      },
    })),
  ],
  [
    'looks again and again at what is paused',
    'what waits in a paused queue gives no moment to look again',
    replying(({ paused }) => (paused === undefined ? {} : { nextIn: 0 })),
  ],
  [
    'sleeps through a resume',
    'a waiting worker wakes when its queue is resumed by another client',
    (good) => ({ waiter: () => ({ wait: () => new Promise(() => undefined), close: () => good.waiter([]).close() }) }),
  ],
  [
    'tells of a restart that nobody asked for',
    'every reserve of every client says the same of a restart, until the next one; before it none says anything',
    replying(() => ({ restart: 'now' })),
  ],
  [
    'tells of each restart once',
    'every reserve of every client says the same of a restart, until the next one; before it none says anything',
    (good, clock) => {
      let told: string | undefined;
      return replying(({ restart }) => (restart === told ? { restart: undefined } : { restart: (told = restart) }))(
        good,
        clock,
      );
    },
  ],
];

describe('the conformance suite', () => {
  it.each(FAULTS)('finds out a driver that %s', async (_harm, promise, fault) => {
    const found = casesOf(fault).find(({ name }) => name === promise);
    await expect(found?.run()).rejects.toMatchObject({ code: 'ERR_ASSERTION' });
  });

  it('lets the error of a driver through as it is', async () => {
    const once: Fault = (good) => ({ close: () => good.queues().then(() => good.close()) });
    const name = 'a connection may be closed any number of times, also at once, also unused';
    const found = casesOf(once).find((it) => it.name === name);
    await expect(found?.run()).rejects.toMatchObject({ code: 'E_CONNECTION_CLOSED' });
  });

  it('has a name of its own for each case', () => {
    const names = casesOf(() => ({})).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('leaves out the promises that need what a driver lacks, and asks it to say so', () => {
    const open = jest.fn();
    const names = conformance(open, { clear: false }).map(({ name }) => name);
    expect(names).not.toContain('clearing leaves the failed jobs');
    expect(names).toContain("a driver without the capability 'clear' says so when it is asked for");
    expect(open).not.toHaveBeenCalled();
  });

  it('disposes of what it opened, also after a broken promise', async () => {
    const dispose = jest.fn(async () => undefined);
    const connection = connectMemory({ driver: 'memory' }, { name: '', clock: new TestClock() });
    const [unnamed] = conformance(async () => ({ connection, advance: () => undefined, dispose })).filter(
      ({ name }) => name === 'a connection says its name, its driver and where its store is',
    );
    await expect(unnamed?.run()).rejects.toThrow('name, driver and address are texts');
    expect(dispose).toHaveBeenCalledTimes(1);
  });
});
