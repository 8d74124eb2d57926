import {
  agreedBook,
  bookOf,
  bookText,
  decide,
  HORIZON,
  liveBook,
  type Book,
  type WindowRate,
} from '../../src/limits/rates';
import { assert, constantFrom, integer, property, record, uniqueArray } from '../support/properties';

const own = (...rates: WindowRate[]) => ({ rates, since: 0 });
const fresh = (...rates: WindowRate[]): Book => agreedBook(undefined, own(...rates), 0);

/** Numbers in [0, 1) that look random and depend on the seed alone. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
}

/** The most of these moments in any window of this length. */
function mostWithin(moments: readonly number[], every: number): number {
  const sorted = moments.toSorted((a, b) => a - b);
  let most = 0;
  for (let first = 0, next = 0; first < sorted.length; first += 1) {
    while (next < sorted.length && sorted[next]! < sorted[first]! + every) next += 1;
    most = Math.max(most, next - first);
  }
  return most;
}

interface World {
  readonly rates: readonly WindowRate[];
  readonly jobs: number;
  /** The dispatches are spread over so long. */
  readonly spread: number;
  /** How far the clocks of processes differ: a window may be so much shorter. */
  readonly skew: number;
  /** How long it takes until a job that is due is handed out. */
  readonly lateness: number;
  /** Nothing is handed out for so long. */
  readonly outage: number;
  readonly patience: number;
  readonly seed: number;
}

/** Runs all jobs of a world, each as its store would hand it out. */
function simulate(world: World): { starts: number[]; comebacks: number; text: string; end: number } {
  const random = randomFrom(world.seed);
  const begin = 1_800_000_000_000;
  const due = Array.from({ length: world.jobs }, () => ({ at: begin + random() * world.spread, again: false }));
  let book = fresh(...world.rates);
  let [text, end, comebacks] = ['', begin, 0];
  const starts: number[] = [];
  while (due.length > 0) {
    due.sort((a, b) => b.at - a.at);
    const job = due.pop()!;
    end = job.at;
    const now = job.at + (random() - 0.5) * world.skew;
    book = liveBook(book, now);
    const decision = decide(book, now, { again: job.again, patience: world.patience }, random);
    book = bookOf((text = bookText(decision.book, 'nonce')))!;
    if (decision.wait === 0) starts.push(now);
    else {
      const isInPlace = decision.wait <= world.patience;
      comebacks += isInPlace ? 0 : 1;
      const back = job.at + decision.wait + (isInPlace ? 0 : random() * world.lateness);
      const isOut = back > begin + world.spread && back < begin + world.spread + world.outage;
      due.push({ at: isOut ? begin + world.spread + world.outage : back, again: true });
    }
  }
  return { starts, comebacks, text, end: end - begin };
}

const aRate = record({ allow: integer({ min: 1, max: 60 }), every: constantFrom(100, 777, 1000, 5000, 60_000) });
const aWorld = record({
  rates: uniqueArray(aRate, { minLength: 1, maxLength: 3, selector: ({ every }) => every }),
  jobs: integer({ min: 1, max: 150 }),
  spread: constantFrom(0, 1000, 30_000),
  skew: constantFrom(0, 0, 5, 50),
  lateness: constantFrom(0, 30, 2000),
  outage: constantFrom(0, 0, 20_000),
  patience: constantFrom(0, 250),
  seed: integer({ min: 1, max: 1_000_000 }),
});

describe('a rate limit', () => {
  it('never lets more than allow jobs start in any window, and lets all start in the end', () => {
    assert(
      property(aWorld, (world) => {
        const { starts } = simulate(world);
        expect(starts).toHaveLength(world.jobs);
        for (const { allow, every } of world.rates)
          expect(mostWithin(starts, every - world.skew)).toBeLessThanOrEqual(allow);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    [{ allow: 5, every: 1000 }, 150],
    [{ allow: 1, every: 200 }, 150],
    [{ allow: 50, every: 1000 }, 1000],
    [{ allow: 30, every: 60_000 }, 200],
  ])('uses nine tenths of %p, and %d jobs come back about once each', (rate, jobs) => {
    const world = { rates: [rate], jobs, spread: 500, skew: 0, lateness: 30, outage: 0, patience: 250, seed: 7 };
    const { comebacks, end } = simulate(world);
    const ideal = (jobs / rate.allow) * rate.every;
    expect(ideal / end).toBeGreaterThan(0.9);
    expect(comebacks / jobs).toBeLessThan(1.2);
  });

  it('holds through an outage, after which all come at once', () => {
    const rate = { allow: 20, every: 1000 };
    const world = { rates: [rate], jobs: 400, spread: 500, skew: 5, lateness: 30, patience: 250, seed: 3 };
    const { starts, comebacks } = simulate({ ...world, outage: 10_000 });
    expect(mostWithin(starts, rate.every - world.skew)).toBeLessThanOrEqual(rate.allow);
    expect(comebacks / world.jobs).toBeLessThan(3);
  });

  it('keeps a short text, however much is allowed', () => {
    const random = randomFrom(1);
    let book = fresh({ allow: 1_000_000, every: 60_000 });
    for (let now = 1_800_000_000_000; now < 1_800_000_120_000; now += 7)
      book = decide(liveBook(book, now), now, { again: false, patience: 0 }, random).book;
    expect(bookText(book, 'nonce').length).toBeLessThan(2000);
  });
});

describe('a job that may not start', () => {
  const random = (): number => 0.5;
  const rate = { allow: 1, every: 1000 };
  const newcomer = { again: false, patience: 0 };

  it('gets a slot of its own, after those of the jobs before it', () => {
    let { book } = decide(fresh(rate), 0, newcomer, random);
    const waits: number[] = [];
    for (let count = 0; count < 3; count += 1) {
      const decision = decide(book, 0, newcomer, random);
      waits.push(decision.wait);
      book = decision.book;
    }
    expect(waits).toEqual([1010, 2020, 3030]);
  });

  it('is not overtaken by a newcomer when its slot comes', () => {
    const first = decide(fresh(rate), 0, newcomer, random);
    const second = decide(first.book, 0, newcomer, random);
    const book = liveBook(second.book, 1009);

    expect(decide(book, 1009, newcomer, random).wait).toBeGreaterThan(0);
    expect(decide(book, 1010, { again: true, patience: 0 }, random).wait).toBe(0);
  });

  it('starts within ten minutes after all those that had slots are gone, as when the queue was cleared', () => {
    let book = fresh(rate);
    for (let count = 0; count < 5000; count += 1) book = decide(book, 0, newcomer, random).book;
    const { wait, book: known } = decide(liveBook(book, 5000), 5000, newcomer, random);
    expect(wait).toBeLessThanOrEqual(HORIZON);
    const back = 5000 + wait;
    expect(decide(liveBook(known, back), back, { again: true, patience: 0 }, random).wait).toBe(0);
  });

  it('comes back within ten minutes, at random, if all slots until then are taken', () => {
    const book = { ...decide(fresh(rate), 0, newcomer, random).book, booked: HORIZON };
    const decision = decide(book, 0, newcomer, random);
    expect(decision).toEqual({ book, wait: HORIZON * 0.75 });
  });
});

it('counts a start by a clock that is behind as late as the last one before it', () => {
  const rate = { allow: 3, every: 1000 };
  const asking = { again: true, patience: 0 };
  const ahead = decide(fresh(rate), 500, asking, () => 0.5).book;
  expect(decide(ahead, 480, asking, () => 0.5).book.starts).toEqual([[50, 2]]);
});

describe('the rates of a key', () => {
  const book = {
    ...fresh({ allow: 2, every: 1000 }, { allow: 9, every: 60_000 }),
    since: 100,
    starts: [
      [59, 2],
      [0, 5],
    ],
  };

  it('are those of the program that came later', () => {
    const mine = { rates: [{ allow: 7, every: 1000 }], since: 99 };
    expect(agreedBook(book, mine, 1000)).toBe(book);
    expect(agreedBook(book, { ...mine, since: 101 }, 1000).rates).toBe(mine.rates);
  });

  it('are ours if the others came from further in the future than clocks may differ', () => {
    const mine = { rates: [{ allow: 7, every: 1000 }], since: 99 };
    const strange = { ...book, since: 10 * 60_000 };
    expect(agreedBook(strange, mine, 1000).rates).toBe(mine.rates);
  });

  it('count the starts from before they changed', () => {
    const { starts } = agreedBook(
      book,
      {
        since: 200,
        rates: [
          { allow: 1, every: 1000 },
          { allow: 1, every: 5000 },
        ],
      },
      1000,
    );
    // The end of the slice of 600 ms is the end of the twelfth of 50 ms.
    expect(starts).toEqual([
      [59, 2],
      [11, 5],
    ]);
  });
});

describe('the text of a key', () => {
  it.each([
    '',
    '{}',
    '[]',
    '["n",1]',
    '["n",1,2]',
    '["n",1,2,[0,1000]]',
    '["n",1,2,[1,-1]]',
    '["n",1,2,[1,1000,5]]',
    '["n",1,2,3]',
    '["n",1,2,["1",1000]]',
    'null',
  ])('counts as unreadable if it is %p', (text) => expect(bookOf(text)).toBeUndefined());

  it('does not hold back jobs for longer than two windows if the clock of its writer was hours ahead', () => {
    const hour = 3_600_000;
    const random = (): number => 0.5;
    const written = decide(fresh({ allow: 1, every: 1000 }), hour, { again: false, patience: 0 }, random).book;
    let book: Book = { ...written, booked: hour + HORIZON };
    let now = 1000;
    for (let again = false; ; again = true) {
      const decision = decide(liveBook(book, now), now, { again, patience: 0 }, random);
      if (decision.wait === 0) break;
      book = decision.book;
      now += decision.wait;
    }
    expect(now).toBeLessThan(3100);
  });
});
