/** The steps of the model test, which applies any sequence of them to a store, with jobs of all kinds. */
import * as fc from '../support/properties';
import { type BatchCallback, callbackPayload } from '../../src/connections/batch-store';
import type { Entry, Settlement } from '../../src/connections/contract';
import { debounceKey, type Ties, uniqueKey, withTies } from '../../src/payload/ties';

/**
 * Delays and leases end fifty seconds away from any step, so that the milliseconds that a run takes do not affect the
 * result.
 */
export const QUEUES = ['high', 'low'] as const;
const DELAYS = [0, 250, 750] as const;
const LEASES = [350, 850] as const;
/** Seconds. The last one is longer than finished batches are kept. */
const ADVANCES = [100, 500, 100, 500, 90_000] as const;
export const OPEN_FOR = 350;
export const OLD = 450;
/** The deadline of a push by each of these keys, in seconds from the start. */
export const ONCE = { soon: 350, 'in a while': 1150, never: -50 } as const;

export type Ending = Settlement['outcome'] | 'not started';

export const BODIES = {
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
  laned: (n: number) => withTies(BODIES.ours(n), { lane: { key: 'one', running: 1, ordered: false } }),
  'of two': (n: number) => withTies(BODIES.ours(n), { lane: { key: 'two', running: 2, ordered: false } }),
  ordered: (n: number) => withTies(BODIES.ours(n), { lane: { key: 'ordered', running: 1, ordered: true } }),
} as const;

/** A job of a batch. */
export function member(n: number, batch: string, weight: number): Entry {
  const ties = { batch: { id: batch, weight } };
  return { payload: withTies(BODIES.ours(n), ties), ties };
}

/** If two batches finish in one step, the order of their callbacks is undefined. */
const CALLBACKS: readonly (readonly [on: BatchCallback['on'], queue: string, delay?: number])[] = [
  ['then', 'told'],
  ['catch', 'told'],
  ['finally', 'later', 250],
  ['finally', 'told'],
  ['next', 'high'],
  ['progress', 'told'],
];

export const callbacksOf = (batch: string): readonly BatchCallback[] =>
  CALLBACKS.map(([on, queue, delay], at) => {
    const id = `${batch}-${on}-${at}`;
    return { on, queue, delay, id, head: callbackPayload({ head: '{"job":"told",', id }).split('"id"')[0]! };
  });

const tied = (n: number, unique: Ties['unique']): string => withTies(BODIES.ours(n), { unique });

export interface Following {
  readonly queue: string;
  /** `link`: a job of the same batch as the settled job. */
  readonly body: keyof typeof BODIES | 'link';
  readonly delay: number;
}

export type Step =
  | {
      readonly do: 'begin';
      readonly queue: string;
      readonly weights: readonly number[];
      readonly delay: number;
      readonly allowsFailures: boolean;
      readonly every: number | undefined;
      readonly isOpen: boolean;
    }
  | {
      readonly do: 'add' | 'add once';
      readonly batch: number;
      readonly queue: string;
      readonly weights: readonly number[];
    }
  | { readonly do: 'hold' | 'seal' | 'abandon' | 'stop'; readonly batch: number }
  | { readonly do: 'prune'; readonly unfinished: boolean }
  | { readonly do: 'push'; readonly queue: string; readonly body: keyof typeof BODIES; readonly delay: number }
  | {
      readonly do: 'push once';
      readonly queue: string;
      readonly body: keyof typeof BODIES;
      readonly delay: number;
      readonly key: keyof typeof ONCE;
    }
  | {
      readonly do: 'reserve';
      readonly queues: readonly string[];
      readonly limit: number;
      readonly lease: number;
    }
  | { readonly do: 'cancel'; readonly job: number; readonly queue: string | undefined }
  | {
      readonly do: 'reschedule';
      readonly job: number;
      readonly delay: number;
      readonly queue: string | undefined;
    }
  | { readonly do: 'pause' | 'resume'; readonly queue: string }
  | { readonly do: 'limit'; readonly queue: string; readonly running: number | undefined }
  | { readonly do: 'restart' }
  | {
      readonly do: 'settle';
      readonly which: number;
      readonly outcome: Ending;
      readonly delay: number;
      /** The jobs that follow the outcome, if it can have any. */
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
export const steps: fc.Arbitrary<Step[]> = fc.array(
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
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('push once' as const),
        queue,
        body: fc.constantFrom(...(Object.keys(BODIES) as (keyof typeof BODIES)[])),
        delay: fc.constantFrom(...DELAYS),
        key: fc.constantFrom(...(Object.keys(ONCE) as (keyof typeof ONCE)[])),
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
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('reschedule' as const),
        job: fc.integer({ min: 1, max: 12 }),
        delay: fc.constantFrom(...DELAYS),
        queue: fc.option(queue, { nil: undefined }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('pause' as const, 'resume' as const), queue }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('limit' as const), queue, running: fc.constantFrom(1, 2, undefined) }),
    },
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
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constantFrom<'add' | 'add once'>('add', 'add once'), batch, queue, weights }),
    },
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
