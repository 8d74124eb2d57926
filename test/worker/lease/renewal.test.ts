import { momentOf } from '../../../src/base/clock';
import { noCounters } from '../../../src/payload/counters';
import type { RenewResult, Reservation } from '../../../src/connections/contract';
import { TestClock } from '../../../src/testing/test-clock';
import { LeaseTable } from '../../../src/worker/lease/record';
import { type Held, LeaseRenewal } from '../../../src/worker/lease/renewal';

let clock: TestClock;
let table: LeaseTable;
let asked: (readonly Reservation[])[];
let lost: Held[];
let cancelled: Held[];
let ended: Held[];
let said: string[];
let answer: (reservations: readonly Reservation[]) => Promise<readonly RenewResult[]>;
let recoveries: number;
let renewal: LeaseRenewal<Held>;

const many = (count: number, text = 'x', queue = 'default'): readonly Held[] =>
  Array.from({ length: count }, (_, index) => ({
    position: undefined,
    number: index + 1,
    reservation: { queue, payload: Buffer.from(text), counters: noCounters, token: undefined },
    record: table.take(momentOf(clock)),
  }));
const one = (): Held => many(1)[0]!;
/** A job whose lease began some time ago. */
const begun = (ago: number): Held => {
  const { monotonic, wall } = momentOf(clock);
  return { ...one(), record: table.take({ monotonic: monotonic - ago, wall: wall - ago }) };
};
const always =
  (result: RenewResult) =>
  async (reservations: readonly Reservation[]): Promise<readonly RenewResult[]> =>
    reservations.map(() => result);
const away = (): Promise<never> => Promise.reject(new Error('away'));

beforeEach(() => {
  clock = new TestClock();
  table = new LeaseTable(momentOf(clock));
  asked = [];
  lost = [];
  cancelled = [];
  ended = [];
  said = [];
  recoveries = 0;
  answer = always('renewed');
  renewal = new LeaseRenewal<Held>({
    lease: 36,
    clock,
    renew: (reservations) => {
      asked.push(reservations);
      return answer(reservations);
    },
    lost: (leased) => lost.push(leased),
    cancelled: (leased) => cancelled.push(leased),
    ended: (leased) => ended.push(leased),
    failed: (error) => said.push((error as Error).message),
    recovered: () => (recoveries += 1),
  });
});

afterEach(() => renewal.close());

it('does not renew leases of jobs that end within a third of their lease', async () => {
  const jobs = many(3);
  renewal.keep(jobs);
  await clock.advance('11s');
  for (const job of jobs) renewal.drop(job);

  await clock.advance('60s');

  expect(asked).toEqual([]);
});

it('renews a lease after every third of it', async () => {
  renewal.keep([one()]);

  await clock.advance('11s');
  expect(asked).toHaveLength(0);
  await clock.advance('1s');
  expect(asked).toHaveLength(1);
  await clock.advance('11s');
  expect(asked).toHaveLength(1);
  await clock.advance('1s');
  expect(asked).toHaveLength(2);
});

it('renews no lease later than after a third, whenever it began', async () => {
  const leases: Held[] = [];
  for (let second = 0; second < 10; second += 1) {
    const next = one();
    leases.push(next);
    renewal.keep([next]);
    await clock.advance('1s');
  }

  for (let second = 0; second < 30; second += 1) {
    await clock.advance('1s');
    const oldest = Math.min(...leases.map(({ record }) => record.leasedAt()));
    expect(clock.monotonic() - oldest).toBeLessThanOrEqual(12_000);
  }
});

it('renews in pages of 100 jobs and 1 MiB', async () => {
  renewal.keep([...many(150), ...many(3, 'x'.repeat(600_000))]);

  await clock.advance('12s');

  expect(asked.map(({ length }) => length)).toEqual([100, 51, 1, 1]);
});

it('retries soon when the store fails, and logs each outage once', async () => {
  answer = away;
  renewal.keep([one()]);
  await clock.advance('12s');
  const before = asked.length;
  await clock.advance('2s');
  expect(asked.length - before).toBeGreaterThan(2);

  answer = always('renewed');
  await clock.advance('12s');
  answer = away;
  await clock.advance('12s');

  expect(said).toEqual(['away', 'away']);
  expect(lost).toEqual([]);
});

it('reports a lease that has ended and keeps trying to renew it', async () => {
  answer = away;
  const job = one();
  renewal.keep([job]);

  await clock.advance('35s');
  expect(ended).toEqual([]);
  await clock.advance('4s');
  expect(ended).toContain(job);
  answer = always('renewed');
  await clock.advance('2s');

  expect(job.record.leasedAt()).toBeGreaterThan(36_000);
  expect(lost).toEqual([]);
});

it('gives up lost leases and keeps renewing the others', async () => {
  const [first, second] = many(2);
  answer = async (reservations) => reservations.map((held) => (held === first!.reservation ? 'lost' : 'renewed'));
  renewal.keep([first!, second!]);

  await clock.advance('30s');

  expect(lost).toEqual([first]);
  expect(asked.at(-1)).toEqual([second!.reservation]);
});

it('reports a cancelled job with each renewal and keeps its lease', async () => {
  const job = one();
  answer = always('cancelled');
  renewal.keep([job]);

  await clock.advance('24s');

  expect(cancelled).toEqual([job, job]);
  expect(job.record.leasedAt()).toBe(24_000);
});

it('does not report a job as lost that ended during the call', async () => {
  const job = one();
  answer = async () => {
    renewal.drop(job);
    return ['lost'];
  };
  renewal.keep([job]);

  await clock.advance('30s');

  expect(lost).toEqual([]);
});

it('a page that the store refuses does not hold up other pages', async () => {
  answer = (reservations) => (reservations.length === 100 ? away() : always('renewed')(reservations));
  const jobs = many(101);
  renewal.keep(jobs);

  await clock.advance('40s');

  expect(ended).toContain(jobs[0]);
  expect(ended).not.toContain(jobs[100]);
});

it('renews at once a lease that it is given late', async () => {
  renewal.keep([one()]);
  renewal.keep([begun(15_000)]);

  await clock.advance(0);

  expect(asked).toHaveLength(1);
});

it('renews leases that may have ended while the machine slept, without aborting their jobs', async () => {
  const job = one();
  renewal.keep([job]);
  const { now } = clock;
  clock.now = () => now.call(clock) + 60_000;

  await clock.advance('12s');
  expect([asked.length, ended]).toEqual([1, []]);
  await clock.advance('11s');

  expect(asked).toHaveLength(1);
});

it('does not renew leases that another thread renews in time', async () => {
  const job = one();
  renewal.renewAfter(1 / 2);
  renewal.keep([job]);

  for (let third = 0; third < 6; third += 1) {
    await clock.advance('12s');
    job.record.renew(momentOf(clock));
  }
  expect(asked).toEqual([]);
  await clock.advance('18s');

  expect(asked).toHaveLength(1);
});

describe('before a reserve', () => {
  it('only leases that have ended are renewed', async () => {
    answer = away;
    const [old, young] = [begun(36_000), one()];
    renewal.keep([young, old]);
    answer = always('renewed');

    await Promise.all(renewal.renewEnded()!.values());

    expect(asked).toEqual([[old.reservation]]);
  });

  it('each clock is read once, however many jobs are held', () => {
    renewal.keep(many(1000));
    const reads = [jest.spyOn(clock, 'monotonic'), jest.spyOn(clock, 'now')];

    expect(renewal.renewEnded()).toBeUndefined();

    expect(reads.map((read) => read.mock.calls.length)).toEqual([1, 1]);
  });

  it('an error of the store is reported to the caller', async () => {
    answer = away;
    renewal.keep([begun(36_000)]);

    await expect(renewal.renewEnded()!.get('default')).rejects.toThrow('away');
  });
});

it('counts the leases that are more than half over', async () => {
  answer = away;
  renewal.keep(many(2));

  await clock.advance('17s');
  expect(renewal.atRisk()).toBe(0);
  await clock.advance('1s');
  expect(renewal.atRisk()).toBe(2);
});

it('leaves no timer behind', async () => {
  answer = away;
  renewal.keep([one()]);
  await clock.advance('13s');

  renewal.close();

  expect(clock.pending).toBe(0);
});

class Later {
  resolve!: (result: RenewResult) => void;
  reject!: (error: Error) => void;
  readonly promise = new Promise<RenewResult>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

describe('a renewal that one part of the store leaves unanswered', () => {
  let later: Later;
  let silent: Held;
  let other: Held;

  beforeEach(() => {
    silent = many(1, 'x', 'silent')[0]!;
    other = one();
    later = new Later();
    answer = async ([first]) => [first!.queue === 'silent' ? await later.promise : 'renewed'];
    renewal.keep([silent, other]);
  });

  const askedOfSilent = (): number => asked.flat().filter(({ queue }) => queue === 'silent').length;

  it('is requested once and does not hold up the renewal of other leases', async () => {
    await clock.advance('60s');

    expect([askedOfSilent(), ended.includes(other), ended.includes(silent)]).toEqual([1, false, true]);
    expect(clock.monotonic() - other.record.leasedAt()).toBeLessThanOrEqual(12_000);
  });

  it('counts from the time of the request once the answer comes', async () => {
    await clock.advance('12s');
    const askedAt = clock.monotonic();
    await clock.advance('3s');
    later.resolve('renewed');
    await clock.advance(0);

    expect(silent.record.leasedAt()).toBe(askedAt);
  });

  it('does not set back a lease that was renewed later', async () => {
    await clock.advance('12s');
    await clock.advance('60s');
    silent.record.renew(momentOf(clock));
    later.resolve('renewed');
    await clock.advance(0);

    expect(silent.record.leasedAt()).toBe(clock.monotonic());
  });

  it('is not reported when it fails after the renewals were closed', async () => {
    await clock.advance('12s');
    renewal.close();
    later.reject(new Error('away'));
    await clock.advance(0);

    expect(said).toEqual([]);
  });

  it('is reported as lost if the answer says so', async () => {
    await clock.advance('12s');
    later.resolve('lost');
    await clock.advance(0);

    expect(lost).toEqual([silent]);
  });

  it('is requested again when it fails, and its failure and its end are reported once', async () => {
    await clock.advance('12s');
    const failing = later;
    later = new Later();
    failing.reject(new Error('away'));
    await clock.advance('30s');
    expect([said, askedOfSilent(), recoveries]).toEqual([['away'], 2, 0]);
    later.resolve('renewed');
    await clock.advance(0);

    expect(recoveries).toBe(1);
  });

  it('is returned before a reserve, which can wait for its result', async () => {
    await clock.advance('40s');

    const renewals = renewal.renewEnded()!;
    expect([...renewals.keys()]).toEqual(['silent']);
    later.reject(new Error('away'));
    await expect(renewals.get('silent')).rejects.toThrow('away');
  });
});
