/** Random steps on jobs with lanes, and an oracle that counts them anew after each step. */
import * as fc from './properties';
import type { Connection, Entry, LaneState, Reservation, Settlement } from '../../src/connections/contract';
import { givenBack } from '../../src/connections/kit/connection';
import {
  afterFailedAttempt,
  afterFreeRelease,
  afterRetry,
  countersIn,
  fenceOf,
  withCounters,
} from '../../src/payload/counters';
import { readTies, withTies, type LaneTie } from '../../src/payload/ties';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { reserveFrom, settleIn } from './exchange';

const QUEUES = ['high', 'low'] as const;
type QueueName = (typeof QUEUES)[number];

const LANES: Readonly<Record<string, LaneTie | undefined>> = {
  one: { key: 'one', running: 1, ordered: false },
  two: { key: 'two', running: 2, ordered: false },
  many: { key: 'many', running: 5, ordered: false },
  /** The same lane, with another number. */
  'many, later': { key: 'many', running: 3, ordered: false },
  ordered: { key: 'ordered', running: 1, ordered: true },
  none: undefined,
};
const KEYS = ['one', 'two', 'many', 'ordered'] as const;
const DELAYS = [0, 0, 250] as const;

type Ending = Settlement['outcome'] | 'not started' | 'later' | 'followed';

export type Step =
  | {
      readonly do: 'push';
      readonly queue: QueueName;
      readonly jobs: readonly (readonly [lane: string, delay: number])[];
    }
  | { readonly do: 'reserve'; readonly queues: readonly QueueName[]; readonly limit: number; readonly lease: number }
  | {
      readonly do: 'settle';
      readonly which: readonly number[];
      readonly outcome: Ending;
      /** Of the job that follows. */
      readonly lane: string;
      readonly delay: number;
    }
  | { readonly do: 'advance'; readonly seconds: number }
  | { readonly do: 'cancel' | 'promote'; readonly job: number }
  | { readonly do: 'clear'; readonly queue: QueueName }
  | { readonly do: 'retry'; readonly which: number }
  | { readonly do: 'renew'; readonly which: number }
  | { readonly do: 'limit'; readonly queue: QueueName; readonly lane: string; readonly running: number | undefined }
  | { readonly do: 'pause' | 'resume'; readonly queue: QueueName; readonly lane: string };

/** Mostly one, or lanes would hardly ever be full. */
const queue = fc.constantFrom<QueueName>('high', 'high', 'high', 'low');
const lane = fc.constantFrom(...Object.keys(LANES));
const key = fc.constantFrom(...KEYS);
const delay = fc.constantFrom(...DELAYS);
const which = fc.nat(30);

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({
        do: fc.constant('push' as const),
        queue,
        jobs: fc.array(fc.tuple(lane, delay), { minLength: 2, maxLength: 8 }),
      }),
    },
    {
      weight: 7,
      arbitrary: fc.record({
        do: fc.constant('reserve' as const),
        queues: fc.shuffledSubarray([...QUEUES], { minLength: 1 }),
        limit: fc.constantFrom(1, 3, 10),
        lease: fc.constantFrom(350, 850),
      }),
    },
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('settle' as const),
        which: fc.array(which, { minLength: 1, maxLength: 3 }),
        outcome: fc.constantFrom<Ending>(
          ...([
            'completed',
            'completed',
            'cancelled',
            'failed',
            'released',
            'later',
            'not started',
            'followed',
          ] as const),
        ),
        lane,
        delay,
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('advance' as const), seconds: fc.constantFrom(100, 500) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('cancel' as const, 'promote' as const),
        job: fc.integer({ min: 1, max: 30 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const), queue }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('retry' as const), which }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('renew' as const), which }) },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('limit' as const),
        queue,
        lane: key,
        running: fc.constantFrom(1, 2, 4, 7, undefined),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom('pause' as const, 'resume' as const, 'resume' as const),
        queue,
        lane: key,
      }),
    },
  ),
  // Without it, fast-check prefers short ones.
  { maxLength: 60, size: 'max' },
);

interface Counted {
  inside: number;
  held: number;
}

/** What the texts of a queue say about its lanes. */
interface Sight {
  readonly lanes: ReadonlyMap<string, Counted>;
  readonly listed: ReadonlyMap<string, LaneState>;
}

/** Takes random steps on a store, and throws when its lanes are not what they should be. */
export class LaneModel {
  readonly #connection: Connection;
  readonly #advance: ConformanceHarness['advance'];
  readonly #reservations: Reservation[] = [];
  readonly #before = new Map<string, Sight>();
  /** What was set by hand, by queue and lane. */
  readonly #set = new Map<string, { limit?: number | undefined; paused?: boolean }>();
  #pushed = 0;

  constructor({ connection, advance }: Pick<ConformanceHarness, 'connection' | 'advance'>) {
    this.#connection = connection;
    this.#advance = advance;
  }

  async take(step: Step): Promise<void> {
    await this.#do(step);
    for (const name of QUEUES) await this.#check(name, step);
  }

  async #do(step: Step): Promise<unknown> {
    const connection = this.#connection;
    switch (step.do) {
      case 'push':
        return connection.push(
          step.queue,
          step.jobs.map(([name, wait]) => this.#entry(name, wait)),
        );
      case 'reserve': {
        const { reservations } = await reserveFrom(connection, step);
        return this.#reservations.push(...reservations);
      }
      case 'settle': {
        // Also such that have ended, or whose lease has.
        const { length } = this.#reservations;
        const chosen = new Set(length === 0 ? [] : step.which.map((at) => this.#reservations[at % length]!));
        return settleIn(
          connection,
          [...chosen].map((reservation) => this.#settlement(reservation, step)),
        );
      }
      case 'advance':
        return this.#advance(step.seconds);
      case 'cancel':
        return connection.control!.cancel(`job-${step.job}`);
      case 'promote':
        return connection.control!.reschedule!(`job-${step.job}`, { delay: 0 });
      case 'clear':
        return connection.queues.clear!(step.queue);
      case 'retry': {
        const entries = await connection.failed!.list({ limit: 100 });
        const entry = entries[step.which % (entries.length || 1)];
        if (entry === undefined) return undefined;
        const counters = countersIn(entry.payload)!;
        return connection.failed!.retry(entry, withCounters(entry.payload, afterRetry(counters)));
      }
      case 'renew': {
        const reservation = this.#reservations[step.which % (this.#reservations.length || 1)];
        return reservation && connection.renew!([reservation], 350);
      }
      case 'limit':
        this.#note(step.queue, step.lane, { limit: step.running });
        return connection.lanes!.change(step.queue, step.lane, { limit: step.running });
      default:
        this.#note(step.queue, step.lane, { paused: step.do === 'pause' });
        return connection.lanes!.change(step.queue, step.lane, { paused: step.do === 'pause' });
    }
  }

  #note(name: QueueName, lane: string, change: { limit?: number | undefined; paused?: boolean }): void {
    const place = `${name} ${lane}`;
    this.#set.set(place, { ...this.#set.get(place), ...change });
  }

  #entry(name: string, wait: number): Entry {
    const plain = `{"job":"probe","data":{},"id":"job-${++this.#pushed}","attempts":0}`;
    const tie = LANES[name];
    const when = wait > 0 ? { delay: wait } : {};
    if (tie === undefined) return { payload: plain, ...when };
    return { payload: withTies(plain, { lane: tie }), ties: { lane: tie }, ...when };
  }

  #settlement(reservation: Reservation, { outcome, lane: name, delay: wait }: Step & { do: 'settle' }): Settlement {
    const { counters, queue: own } = reservation;
    const id = String(/"id":"([^"]*)"/.exec(reservation.payload.toString())?.[1]);
    switch (outcome) {
      case 'followed':
        return { outcome: 'completed', reservation, next: [{ queue: own, entry: this.#entry(name, wait) }] };
      case 'not started':
        return givenBack(reservation);
      case 'released':
        return { outcome, reservation, delay: 0, counters: afterFreeRelease(counters) };
      case 'later':
        return { outcome: 'released', reservation, delay: 250, counters: afterFailedAttempt(counters) };
      case 'failed':
        return {
          outcome,
          reservation,
          counters: afterFailedAttempt(counters),
          failure: { id, name: 'probe', exception: 'no' },
        };
      default:
        return { outcome, reservation };
    }
  }

  async #check(name: QueueName, step: Step): Promise<void> {
    const sight = await this.#look(name);
    const before = this.#before.get(name);
    const complain = (lane: string, problem: string): never => {
      throw new Error(`after ${JSON.stringify(step)}: lane ${lane} of ${name} ${problem}`);
    };
    if (step.do === 'clear' && step.queue === name && sight.lanes.size > 0)
      complain([...sight.lanes.keys()].join(), 'has jobs after it was cleared');
    for (const lane of new Set([...sight.lanes.keys(), ...sight.listed.keys()])) {
      const found = sight.lanes.get(lane) ?? { inside: 0, held: 0 };
      const listed = sight.listed.get(lane) ?? { inside: 0, held: 0, running: 0, paused: false };
      if (found.inside !== listed.inside) complain(lane, `counts ${listed.inside} jobs, and has ${found.inside}`);
      if (found.held !== listed.held) complain(lane, `says that it holds ${listed.held}, and holds ${found.held}`);
      const { limit: byHand, paused = false } = this.#set.get(`${name} ${lane}`) ?? {};
      if (listed.paused !== paused) complain(lane, `is ${paused ? 'not ' : ''}paused`);
      // An ordered lane lets in one, as soon as it is known to be ordered.
      const isWrong = lane === 'ordered' ? ![1, byHand].includes(listed.running) : listed.running !== byHand;
      if (byHand !== undefined && isWrong) complain(lane, `lets in ${listed.running}, and was set to ${byHand}`);
      const limit = listed.paused ? 0 : listed.running;
      const had = before?.lanes.get(lane)?.inside ?? 0;
      // A store may take the jobs of a push one by one, and each says how many may be in from then on.
      const said = step.do === 'push' ? step.jobs.map(([job]) => LANES[job]?.running ?? 0) : [];
      const most = listed.paused ? 0 : Math.max(limit, ...said);
      if (found.inside > most && found.inside > had) complain(lane, `has let in ${found.inside} of ${limit}`);
      if (found.held > 0 && found.inside < limit)
        complain(lane, `holds ${found.held} with ${found.inside} of ${limit} in`);
    }
    this.#before.set(name, sight);
    const findings = await this.#connection.keys!.recount?.({ repair: false });
    if (findings !== undefined && findings.length > 0) complain('any', `is recounted as ${JSON.stringify(findings)}`);
  }

  async #look(name: QueueName): Promise<Sight> {
    const { queues, lanes: store } = this.#connection;
    const listed = new Map((await store!.list(name)).lanes.map((one) => [one.lane, one]));
    const heldCount = [...listed.values()].reduce((sum, { held }) => sum + held, 0);
    const lanes = new Map<string, Counted>();
    const note = (payload: Buffer, kind: keyof Counted): void => {
      const tie = readTies(payload)?.lane;
      if (tie === undefined) return;
      const counted = lanes.get(tie.key) ?? { inside: 0, held: 0 };
      counted[kind] += 1;
      lanes.set(tie.key, counted);
    };
    const ready = await queues.peek!(name, 'ready', 1000);
    for (const [at, { payload }] of ready.entries()) note(payload, at < ready.length - heldCount ? 'inside' : 'held');
    for (const { payload } of await queues.peek!(name, 'reserved', 1000)) note(payload, 'inside');
    for (const { payload } of await queues.peek!(name, 'delayed', 1000)) {
      // Only of an ordered lane, after it was handed out.
      if (readTies(payload)?.lane?.ordered === true && fenceOf(countersIn(payload)!) > 0) note(payload, 'inside');
    }
    return { lanes, listed };
  }
}
