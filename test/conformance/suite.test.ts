/** The suite must fail broken drivers: each driver here breaks one promise of a good one. */
import { connectMemory, type MemoryConnection } from '../../src/connections/memory/connection';
import type {
  Connection,
  Entry,
  Reservation,
  ReserveReply,
  SettleResult,
  Wanted,
  Control,
  Queues,
} from '../../src/connections/contract';
import { conformance } from '../../src/testing/conformance';
import { TestClock } from '../../src/testing/test-clock';
import { reserveFrom, settleIn } from '../support/exchange';

type Fault = (good: MemoryConnection, clock: TestClock) => Partial<Connection>;

/** The good driver with the methods of the fault in place of its own. */
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
  return replying(({ reservations }) => ({ reservations: reservations.map(edit) }));
};

const replying = (change: (reply: ReserveReply) => Partial<ReserveReply>): Fault => {
  return (good) => ({
    exchange: async (settlements, wanted) => {
      const { results, reply } = await good.exchange(settlements, wanted);
      return { results, reply: { ...reply, ...(wanted && change(reply)) } };
    },
  });
};

/** A driver that reserves other jobs than it was asked for. */
const asking = (change: (wanted: Wanted) => Wanted): Fault => {
  return (good) => ({ exchange: (settlements, wanted) => good.exchange(settlements, wanted && change(wanted)) });
};

const queues = (change: (good: MemoryConnection) => Partial<Queues>): Fault => {
  return (good) => ({ queues: { ...good.queues, ...change(good) } });
};

/** A driver that gives other results than its store. */
const answering = (change: (results: readonly SettleResult[]) => readonly SettleResult[]): Fault => {
  return (good) => ({
    exchange: async (settlements, wanted) => {
      const { results, reply } = await good.exchange(settlements, wanted);
      return { results: change(results), reply };
    },
  });
};

/** A driver that pushes other entries than it was given. */
const pushing = (change: (entries: readonly Entry[]) => readonly Entry[]): Fault => {
  return (good) => ({ push: (queue, entries) => good.push(queue, change(entries)) });
};

/** A driver with a faulty control. */
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
    'jobs are handed out in the order in which they were pushed',
    replying(({ reservations }) => ({ reservations: reservations.toReversed() })),
  ],
  [
    'ignores the limit',
    'a reserve hands out no more than its limit and reports that jobs are left',
    asking((wanted) => ({ ...wanted, limit: 100 })),
  ],
  [
    'ignores the order of the queues',
    'several queues are emptied strictly in the order in which they are named',
    asking((wanted) => ({ ...wanted, queues: wanted.queues.toReversed() })),
  ],
  [
    'forgets when to look again',
    'a delayed job is not handed out early, and the reply says when to look again',
    replying(() => ({ nextIn: Infinity })),
  ],
  [
    'ignores delays',
    'a delayed job is not handed out early, and the reply says when to look again',
    pushing((entries) => entries.map(({ payload }) => ({ payload }))),
  ],
  [
    'cuts fractions off delays',
    'a delay can have fractions of a second',
    pushing((entries) => entries.map((entry) => ({ ...entry, delay: Math.floor(entry.delay ?? 0) }))),
  ],
  [
    'lets a delayed text be replaced',
    'a payload that must be distinct is refused while an equal one is delayed, and nothing changes',
    pushing((entries) => entries.map((entry) => ({ ...entry, distinct: false }))),
  ],
  [
    'always reports `settled`',
    'a reservation that was completed cannot end again, and trying changes nothing (alone)',
    answering((results) => results.map(() => 'settled')),
  ],
  [
    'pushes a job again when it cannot renew it',
    'a holder whose lease ended cannot complete, release, fail or renew a job that another worker now holds',
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
    'returns results in another order than the request',
    'one settle returns the results of many reservations in the order of the request (alone)',
    answering((results) => results.toSorted()),
  ],
  [
    'reserves before it settles',
    'a reserve combined with a settle can hand out the jobs that the settle released',
    (good) => ({
      exchange: async (settlements, wanted) => {
        const { reply } = await good.exchange([], wanted);
        return { results: await settleIn(good, settlements), reply };
      },
    }),
  ],
  [
    'does not renew',
    'a renewed lease lasts past its first end, and no longer than the new one',
    () => ({ renew: async (reservations) => reservations.map(() => 'renewed') }),
  ],
  [
    'parses and rewrites payloads',
    'a payload keeps every byte through all states: numbers of 20 digits',
    pushing((entries) => entries.map((entry) => ({ ...entry, payload: JSON.stringify(JSON.parse(entry.payload)) }))),
  ],
  [
    'counts no attempts',
    'a reservation has its queue, and its payload counts this attempt',
    editing((reservation) => ({ ...reservation, counters: { ...reservation.counters, attempts: 0 } })),
  ],
  [
    'merges two jobs with equal payloads',
    'the same payload pushed twice makes two jobs, which end separately',
    pushing((entries) => [...new Set(entries.map((entry) => entry.payload))].map((payload) => ({ payload }))),
  ],
  [
    'silently drops payloads that it cannot read',
    'a payload that is not a JSON object is set aside with its bytes and a reason, and the jobs around it run',
    replying(() => ({ setAside: [] })),
  ],
  [
    'counts running jobs as ready',
    'the jobs of a queue are counted by state',
    queues((good) => ({
      counts: async (queue) => {
        const { ready, delayed, reserved } = await good.queues.counts(queue);
        return { ready: ready + reserved, delayed, reserved: 0 };
      },
    })),
  ],
  [
    'reserves the jobs that it shows',
    'peeking and counting change nothing',
    queues((good) => ({
      peek: async (queue, state, limit) => {
        const jobs = await good.queues.peek(queue, state, limit);
        await reserveFrom(good, { queues: [queue], limit, lease: 60 });
        return jobs;
      },
    })),
  ],
  [
    'clears the failed jobs as well',
    'clearing a queue keeps its failed jobs',
    queues((good) => ({
      clear: async (queue) => {
        await good.failed.flush(queue);
        return good.queues.clear(queue);
      },
    })),
  ],
  [
    'still works after it was closed',
    'a closed connection refuses every call',
    () => ({ close: async () => undefined }),
  ],
  [
    'lacks a member that it was said to have',
    'a driver has the flags and members that the suite was told, and no others',
    () => ({ locks: undefined }),
  ],
  [
    'gives a lock to everybody',
    'a lock has one owner at a time, even if two clients ask at once',
    () => ({
      locks: { acquire: async () => true, renew: async () => true, release: async () => true },
    }),
  ],
  [
    'reports a cancellation but does nothing',
    'a ready job that is cancelled never runs, but its neighbours do',
    ordering(() => ({ cancel: async () => 'removed' })),
  ],
  [
    'cancels the first job instead',
    'a ready job that is cancelled never runs, but its neighbours do',
    (good, clock) =>
      ordering((control) => ({
        cancel: async () => {
          const [first] = await good.queues.peek('probes', 'ready', 1);
          return control.cancel((JSON.parse(String(first?.payload)) as { id: string }).id);
        },
      }))(good, clock),
  ],
  [
    'looks for an id anywhere in the payload',
    'a job is found by its own id wherever that stands in its text, and by no other id in it',
    ordering((good) => ({ cancel: async (id) => good.cancel(id === 'inner' ? 'front' : id) })),
  ],
  [
    'forgets to tell the holder',
    'when another client cancels a running job, only that job is reported as cancelled by the next renewal',
    (good) => ({
      renew: async (reservations, lease) =>
        (await good.renew(reservations, lease)).map((result) => (result === 'cancelled' ? 'renewed' : result)),
    }),
  ],
  [
    'forgets a cancellation when the job is given back',
    'a job that was cancelled while running and then given back is handed out as cancelled',
    editing((reservation) => ({ ...reservation, cancelled: undefined })),
  ],
  [
    'pauses only its own client',
    'every client sees a pause and a resume in its next reserve',
    ordering(() => ({ pause: async () => true })),
  ],
  [
    'ignores the end of a timed pause',
    'a timed pause reports its end and ends by itself, even if nobody looks in the meantime',
    ordering((good) => ({ pause: (queue) => good.pause(queue) })),
  ],
  [
    'keeps the end of an earlier pause',
    'the last call decides how long a queue is paused',
    ordering((good) => ({
      pause: async (queue, seconds) => {
        const isPaused = (await good.paused()).some((pause) => pause.queue === queue);
        return isPaused ? false : good.pause(queue, seconds);
      },
    })),
  ],
  [
    'looks at a paused queue again and again',
    'jobs in a paused queue do not set a time to look again',
    replying(({ paused }) => (paused === undefined ? {} : { nextIn: 0 })),
  ],
  [
    'does not wake for a resume',
    'a waiting worker wakes when its queue is resumed by another client',
    (good) => ({
      exchange: (settlements, wanted) =>
        wanted?.within === undefined ? good.exchange(settlements, wanted) : new Promise(() => undefined),
    }),
  ],
  [
    'reports a restart that nobody asked for',
    'after a restart every reserve of every client reports the same restart, and before the first one none',
    replying(() => ({ restart: 'now' })),
  ],
  [
    'reports each restart only once',
    'after a restart every reserve of every client reports the same restart, and before the first one none',
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
  it.each(FAULTS)('fails a driver that %s', async (_harm, promise, fault) => {
    const found = casesOf(fault).find(({ name }) => name === promise);
    await expect(found?.run()).rejects.toMatchObject({ code: 'ERR_ASSERTION' });
  });

  it('passes an error of the driver on unchanged', async () => {
    const once: Fault = (good) => ({ close: () => good.queues.names().then(() => good.close()) });
    const name = 'a connection can be closed several times, concurrently, and without having been used';
    const found = casesOf(once).find((it) => it.name === name);
    await expect(found?.run()).rejects.toMatchObject({ code: 'E_CONNECTION_CLOSED' });
  });

  it('gives each case a different name', () => {
    const names = casesOf(() => ({})).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('leaves out cases that need a missing capability, and checks instead that the driver refuses such calls', () => {
    const open = jest.fn();
    const names = conformance(open, { clear: false, delay: false }).map(({ name }) => name);
    expect(names).not.toContain('clearing a queue keeps its failed jobs');
    expect(names).toContain("a driver without the capability 'delay' refuses calls that need it");
    expect(open).not.toHaveBeenCalled();
  });

  it('disposes of its harness even after a broken promise', async () => {
    const dispose = jest.fn(async () => undefined);
    const connection = connectMemory({ driver: 'memory' }, { name: '', clock: new TestClock() });
    const [unnamed] = conformance(async () => ({ connection, advance: () => undefined, dispose })).filter(
      ({ name }) => name === 'a connection reports its name, its driver and the address of its store',
    );
    await expect(unnamed?.run()).rejects.toThrow('name, driver and address are texts');
    expect(dispose).toHaveBeenCalledTimes(1);
  });
});
