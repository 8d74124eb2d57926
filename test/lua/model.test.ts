import * as fc from '../support/properties';
import { MemoryConnection } from '../../src/connections/memory/memory-connection';
import { MemoryStore } from '../../src/connections/memory/memory-store';
import { afterFailedAttempt, afterFreeRelease, afterRetry, withCounters } from '../../src/payload/counters';
import { type BatchCallback, callbackPayload } from '../../src/connections/batch-store';
import type { Connection, Entry, Reservation, Settlement } from '../../src/connections/contract';
import { givenBack } from '../../src/connections/given-back';
import { debounceKey, readTies, withTies, uniqueKey, type Ties } from '../../src/payload/ties';
import { TestClock } from '../../src/testing/test-clock';
import { RedisWorld } from '../connections/redis/open-redis';

/**
 * Times are chosen so that no two of them meet: what is delayed or leased ends fifty seconds off any moment at which
 * something is done, and the milliseconds that a run takes decide nothing.
 */
const QUEUES = ['high', 'low'] as const;
const DELAYS = [0, 250, 750] as const;
const LEASES = [350, 850] as const;
/** The last is longer than finished batches are kept. */
const ADVANCES = [100, 500, 100, 500, 90_000] as const;
const OPEN_FOR = 350;
const OLD = 450;

type Ending = Settlement['outcome'] | 'not started';

const BODIES = {
  ours: (n: number) => `{"job":"probe","data":{"big":12345678901234567890,"none":[]},"id":"job-${n}","attempts":0}`,
  twin: () => '{"job":"probe","data":{},"id":"twin","attempts":0}',
  bare: () => '{"releases":2,"attempts":3}',
  nameless: () => '{"job":"probe","data":{}}',
  spaced: (n: number) => ` { "job" : "probe", "id" : "job-${n}" } `,
  counted: (n: number) => `{"id":"job-${n}","attempts":2,"crashes":1,"delay":null}`,
  nothing: () => '[]',
  'until end': (n: number) => tied(n, { key: uniqueKey('Probe', 'one'), until: 'end' }),
  'until start': (n: number) => tied(n, { key: uniqueKey('Probe', 'two'), until: 'start' }),
  debounced: (n: number) =>
    withTies(BODIES.ours(n), { debounce: { key: debounceKey('Probe', 'one', ''), longest: 450 } }),
} as const;

/** Each of these jobs hangs on a batch. */
function member(n: number, batch: string, weight: number): Entry {
  const ties = { batch: { id: batch, weight } };
  return { payload: withTies(BODIES.ours(n), ties), ties };
}

/** Two batches that end in one step send theirs at one moment: in what order is nobody's matter. */
const CALLBACKS: readonly (readonly [on: BatchCallback['on'], queue: string, delay?: number])[] = [
  ['then', 'told'],
  ['catch', 'told'],
  ['finally', 'later', 250],
  ['finally', 'told'],
  ['next', 'high'],
  ['progress', 'told'],
];

const callbacksOf = (batch: string): readonly BatchCallback[] =>
  CALLBACKS.map(([on, queue, delay], at) => {
    const id = `${batch}-${on}-${at}`;
    return { on, queue, delay, id, head: callbackPayload({ head: '{"job":"told",', id }).split('"id"')[0]! };
  });

const tied = (n: number, unique: Ties['unique']): string => withTies(BODIES.ours(n), { unique });

interface Following {
  readonly queue: string;
  /** A link: of the batch that the job belongs to. */
  readonly body: keyof typeof BODIES | 'link';
  readonly delay: number;
}

type Step =
  | {
      readonly do: 'begin';
      readonly queue: string;
      readonly weights: readonly number[];
      readonly delay: number;
      readonly allowsFailures: boolean;
      readonly every: number | undefined;
      readonly isOpen: boolean;
    }
  | { readonly do: 'add'; readonly batch: number; readonly queue: string; readonly weights: readonly number[] }
  | { readonly do: 'hold' | 'seal' | 'abandon' | 'stop'; readonly batch: number }
  | { readonly do: 'prune'; readonly unfinished: boolean }
  | { readonly do: 'push'; readonly queue: string; readonly body: keyof typeof BODIES; readonly delay: number }
  | {
      readonly do: 'reserve';
      readonly queues: readonly string[];
      readonly limit: number;
      readonly lease: number;
    }
  | { readonly do: 'cancel'; readonly job: number; readonly queue: string | undefined }
  | { readonly do: 'pause' | 'resume'; readonly queue: string }
  | { readonly do: 'restart' }
  | {
      readonly do: 'settle';
      readonly which: number;
      readonly outcome: Ending;
      readonly delay: number;
      /** What follows it, where something can. */
      readonly next: readonly Following[];
    }
  | { readonly do: 'renew'; readonly which: number; readonly lease: number }
  | { readonly do: 'advance'; readonly seconds: number }
  | { readonly do: 'retry' | 'forget'; readonly which: number }
  | { readonly do: 'clear'; readonly queue: string };

const queue = fc.constantFrom(...QUEUES);
const which = fc.nat(9);
const batch = fc.integer({ min: 1, max: 3 });
const weights = fc.array(fc.constantFrom(1, 1, 3), { maxLength: 3 });
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('push' as const),
        queue,
        body: fc.constantFrom(...(Object.keys(BODIES) as (keyof typeof BODIES)[])),
        delay: fc.constantFrom(...DELAYS),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('reserve' as const),
        queues: fc.shuffledSubarray([...QUEUES], { minLength: 1 }),
        limit: fc.constantFrom(1, 1, 3),
        lease: fc.constantFrom(...LEASES),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('settle' as const),
        which,
        outcome: fc.constantFrom<Ending>('completed', 'cancelled', 'released', 'failed', 'not started'),
        delay: fc.constantFrom(...DELAYS),
        next: fc.array(
          fc.record({
            queue,
            body: fc.constantFrom('ours' as const, 'twin' as const, 'bare' as const, 'link' as const),
            delay: fc.constantFrom(...DELAYS),
          }),
          { maxLength: 2 },
        ),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('renew' as const), which, lease: fc.constantFrom(...LEASES) }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('advance' as const), seconds: fc.constantFrom(...ADVANCES) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('retry' as const, 'forget' as const), which }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const), queue }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('cancel' as const),
        job: fc.integer({ min: 1, max: 12 }),
        queue: fc.option(queue, { nil: undefined }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('pause' as const, 'resume' as const), queue }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('begin' as const),
        queue,
        weights,
        delay: fc.constantFrom(...DELAYS),
        allowsFailures: fc.boolean(),
        every: fc.constantFrom(undefined, 1, 2),
        isOpen: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('add' as const), batch, queue, weights }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom<'hold' | 'seal' | 'abandon' | 'stop'>('hold', 'seal', 'abandon', 'stop'),
        batch,
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('prune' as const), unfinished: fc.boolean() }) },
  ),
  { maxLength: 40 },
);

/** One back end, driven step by step. What it answers is compared, and so is all that it holds. */
class Actor {
  readonly #connection: Connection;
  readonly #advance: (seconds: number) => Promise<void>;
  readonly #holders: () => Promise<unknown>;
  readonly #reservations: Reservation[] = [];
  readonly #restarts = new Set<string | undefined>();
  #pushed = 0;
  #begun = 0;

  constructor(connection: Connection, advance: (seconds: number) => Promise<void>, holders: () => Promise<unknown>) {
    this.#connection = connection;
    this.#advance = advance;
    this.#holders = holders;
  }

  async take(step: Step): Promise<unknown> {
    const connection = this.#connection;
    switch (step.do) {
      case 'push': {
        const payload = BODIES[step.body](++this.#pushed);
        const ties = readTies(Buffer.from(payload));
        return (await connection.push(step.queue, [{ payload, delay: step.delay, ties }])) ?? ['queued'];
      }
      case 'reserve': {
        const { queues, limit, lease } = step;
        const reply = await connection.reserve({ queues, limit, lease });
        const { reservations, setAside, nextIn, paused, restart } = reply;
        this.#reservations.push(...reservations);
        const shown = reservations.map(({ queue, payload, counters, cancelled = false }) => [
          queue,
          anonymous(payload),
          counters,
          cancelled,
        ]);
        const aside = setAside.map(({ queue, reason }) => [queue, reason]);
        return [shown, aside, rounded(nextIn), paused, this.#restarts.add(restart).size];
      }
      case 'begin': {
        const { weights, delay, allowsFailures, every, isOpen } = step;
        const id = `batch-${++this.#begun}`;
        const entries = weights.map((weight) => ({ ...member(++this.#pushed, id, weight), delay }));
        const openFor = isOpen ? OPEN_FOR : undefined;
        const begins = { id, name: `name ${id}`, allowsFailures, callbacks: callbacksOf(id), every, openFor };
        return (await connection.push(step.queue, entries, begins)) ?? 'all';
      }
      case 'add': {
        const entries = step.weights.map((weight) => member(++this.#pushed, `batch-${step.batch}`, weight));
        if (entries.length === 0) return 'none';
        return connection.push(step.queue, entries).then(
          (pushed) => pushed ?? 'all',
          (error: { code?: string; facts?: unknown }) => [error.code, error.facts],
        );
      }
      case 'hold':
        return connection.batches!.hold(`batch-${step.batch}`);
      case 'seal':
        return connection.batches!.seal(`batch-${step.batch}`);
      case 'abandon':
        return connection.batches!.seal(`batch-${step.batch}`, undefined, { id: 'x', name: 'y', message: '"gone"' });
      case 'stop':
        return connection.batches!.cancel(`batch-${step.batch}`);
      case 'prune':
        return connection.batches!.prune({ olderThan: OLD, unfinished: step.unfinished });
      case 'cancel':
        // Only where the id is one job's: of twins a store may take either.
        return connection.control!.cancel(`job-${step.job}`, step.queue);
      case 'pause':
      case 'resume':
        return connection.control![step.do](step.queue);
      case 'restart':
        return connection.control!.restart();
      case 'settle':
        return this.#held(step.which, (reservation) =>
          connection.settle([this.#withNext(settlementOf(reservation, step.outcome, step.delay), step.next)]),
        );
      case 'renew':
        return this.#held(step.which, (reservation) => connection.renew([reservation], step.lease));
      case 'advance':
        await this.#advance(step.seconds);
        return 'advanced';
      case 'retry':
      case 'forget': {
        const entries = await connection.failed!.list({ limit: 100 });
        const entry = entries[step.which % (entries.length || 1)];
        if (entry === undefined) return 'none';
        if (step.do === 'forget') return connection.failed!.forget(entry);
        return connection.failed!.retry(
          entry,
          withCounters(
            readTies(entry.payload) === undefined ? Buffer.from(BODIES.ours(0)) : entry.payload,
            afterRetry({ attempts: entry.attempts, crashes: 0, exceptions: 0, timeouts: 0, releases: 0 }),
          ),
        );
      }
      default:
        return connection.clear(step.queue);
    }
  }

  async state(moment: number): Promise<unknown> {
    const states: unknown[] = [];
    for (const name of [...QUEUES, 'told', 'later']) {
      for (const state of ['ready', 'delayed', 'reserved'] as const) {
        const jobs = await this.#connection.peek(name, state, 100);
        const shown = jobs.map(({ payload, at }) => [anonymous(payload), at && rounded(at / 1000 - moment)]);
        states.push([name, state, name === 'later' ? shown.toSorted() : shown]);
      }
    }
    const entries = await this.#connection.failed!.list({ limit: 100 });
    const failed = entries.map(({ queue, name, exception, payload, attempts }) => [
      queue,
      name,
      exception,
      anonymous(payload),
      attempts,
    ]);
    const kept = await this.#connection.batches!.list({ limit: 100 });
    const since = (at: number | undefined): number | undefined => at && rounded(at / 1000 - moment);
    const batches = kept.map(({ createdAt, cancelledAt, finishedAt, openUntil, ...counts }) => [
      counts,
      [createdAt, cancelledAt, finishedAt, openUntil].map(since),
    ]);
    return [states, failed, await this.#connection.control!.paused(), await this.#holders(), batches];
  }

  #withNext(settlement: Settlement, next: readonly Following[]): Settlement {
    if (settlement.outcome !== 'completed' && settlement.outcome !== 'failed') return settlement;
    const batch = readTies(settlement.reservation.payload)?.batch?.id;
    const entries = next.map(({ queue, body, delay }) => {
      const number = ++this.#pushed;
      const kind = body === 'link' ? 'ours' : body;
      const entry: Entry =
        body === 'link' && batch !== undefined ? member(number, batch, 1) : { payload: BODIES[kind](number) };
      return { queue, entry: { ...entry, delay } };
    });
    return { ...settlement, next: entries };
  }

  #held<T>(which: number, act: (reservation: Reservation) => Promise<T>): Promise<T | 'none'> {
    const reservation = this.#reservations[which % (this.#reservations.length || 1)];
    return reservation === undefined ? Promise.resolve('none') : act(reservation);
  }
}

function settlementOf(reservation: Reservation, outcome: Ending, delay: number): Settlement {
  const { counters } = reservation;
  if (outcome === 'completed' || outcome === 'cancelled') return { outcome, reservation };
  if (outcome === 'not started') return givenBack(reservation);
  if (outcome === 'released') return { outcome, reservation, delay, counters: afterFreeRelease(counters) };
  const id =
    /"id" ?: ?"([^"]*)"[^"]*"(?:crashes|exceptions|releases|attempts)/.exec(reservation.payload.toString())?.[1] ?? '?';
  return {
    outcome,
    reservation,
    counters: afterFailedAttempt(counters),
    failure: { id: anonymous(Buffer.from(id)), name: 'probe', exception: 'no' },
    cause: { id, name: 'probe', message: 'no' },
  };
}

/** Ids that a store gave are its own. */
function anonymous(payload: Buffer): string {
  return payload
    .toString('latin1')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, 'given')
    .replaceAll(/[\da-f]{16}-\d+-\d+/g, 'given');
}

const rounded = (seconds: number): number => Math.round(seconds / 10) * 10;

describe('the scripts and the memory connection', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });

  afterAll(() => world.stop());

  it('answer alike and hold alike after any sequence of steps', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        world.fresh();
        const [clock, scripts] = [new TestClock(), world.connect()];
        const redis = new Actor(
          scripts,
          (seconds) => world.advance(seconds),
          async () => {
            const holders = Object.entries(await world.client.hgetall(`${world.prefix}:unique`));
            return holders.map(([key, holder]) => [key, holder.replace(/^[\d:]+ /, '')]).toSorted();
          },
        );
        const connection = new MemoryConnection('redis', new MemoryStore('redis', clock));
        const memory = new Actor(
          connection,
          (seconds) => clock.advance(seconds),
          async () => [...connection.snapshot().unique].map(([key, { id }]) => [key, id]).toSorted(),
        );
        const [redisStart, memoryStart] = [Date.now() / 1000, clock.now() / 1000];
        for (const step of sequence) {
          expect(await redis.take(step)).toEqual(await memory.take(step));
          expect(await redis.state(redisStart)).toEqual(await memory.state(memoryStart));
          expect(await scripts.recount({ repair: false })).toEqual([]);
        }
        await world.closeConnections();
      }),
      { numRuns: 60 },
    );
  });
});
