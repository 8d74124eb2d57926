import type { Moment } from '../../../src/base/clock';
import { STATES } from '../../../src/worker/lease/link';
import { LeaseTable, type LeaseRecord } from '../../../src/worker/lease/record';
import type { Held } from '../../../src/worker/lease/renewal';
import { HeldJobs } from '../../../src/worker/lease/thread/held-jobs';
import { holderOf, type HolderFacts } from './holder';

/** Milliseconds by which the clock of the thread is ahead of the worker's. */
const SHIFT = 500;
const at = (monotonic: number, slept = 0): Moment => ({ monotonic, wall: 1e9 + monotonic + slept });
const RESERVED_AT = at(1000);

let table: LeaseTable;
let thread: HeldJobs;

beforeEach(() => {
  table = new LeaseTable(at(0));
  thread = new HeldJobs({
    threadAccess: { module: 'none', data: undefined },
    lease: 3600,
    origin: { monotonic: SHIFT, wall: 1e9 },
    state: new Int32Array(STATES),
    endsProcess: false,
    log: 'text',
    tell: () => undefined,
    found: () => undefined,
    ended: () => undefined,
  });
});

afterEach(() => thread.hear({ kind: 'close' }));

interface Kept {
  readonly number: number;
  readonly record: LeaseRecord;
}

function keep(facts: HolderFacts = {}): Kept {
  const { number, reservation } = holderOf(facts);
  const known = table.pages.length;
  const record = table.take(RESERVED_AT);
  for (const page of table.pages.slice(known)) thread.hear({ kind: 'page', page });
  if (!record.write(reservation)) {
    const payload = new Uint8Array(reservation.payload);
    thread.hear({ kind: 'large', at: record.at, number, reservation: { ...reservation, payload } });
  }
  record.show(number);
  return { number, record };
}

const numbers = (): readonly number[] => thread.all.map(({ number }) => number);
const texts = (): readonly string[] => thread.all.map(({ reservation }) => reservation.payload.toString());

it('the thread finds each job byte for byte with its queue and counters, even if it does not fit into a record', () => {
  const jobs = [
    { text: Buffer.from([0x7b, 0xff, 0x00, 0x7d]), counters: { attempts: 2, crashes: 3 } },
    { text: '', queue: 'high' },
    { text: '{"job":"ö"}', queue: 'größer', counters: { exceptions: 4, timeouts: 5, releases: 1e14 } },
    { text: '{}', token: { id: 1, fence: 2 } },
    { text: '{}', queue: 'größer', token: { handle: 'ö"' } },
    { text: '{}', token: new Map([['handle', 1n]]) },
    { text: '{}', token: { lost: false } },
    { text: `{"data":"${'x'.repeat(5000)}"}` },
  ];

  const kept = jobs.map((facts) => keep(facts));

  const expected = jobs.map((facts) => holderOf(facts).reservation);
  expect(thread.all.map(({ reservation }) => reservation)).toEqual(expect.arrayContaining(expected));
  expect(numbers().toSorted()).toEqual(kept.map(({ number }) => number));
});

it('a token of numbers and texts fits into a record, any other token does not', () => {
  const fits = (token: unknown): boolean => table.take(RESERVED_AT).write(holderOf({ token }).reservation);

  expect([{ id: 1, fence: 2 }, { handle: 'text' }, {}, undefined].map(fits)).toEqual([true, true, true, true]);
  expect([1n, null, [1], new Date(), new Map(), { at: NaN }, { of: {} }].map(fits)).not.toContain(true);
});

it('a record whose token is half written is skipped, and found once it is whole', () => {
  const { number, record } = keep({ token: { id: 1 } });
  const memory = Buffer.from(table.pages[0]!);
  memory[memory.indexOf('{"id":1}')] = 0;
  expect(numbers()).toEqual([]);

  record.write(holderOf({ token: { id: 1 } }).reservation);

  expect(numbers()).toEqual([number]);
});

it('a settled job is not found any more', () => {
  const { number, record } = keep();
  expect(numbers()).toEqual([number]);

  table.leave(record);

  expect(numbers()).toEqual([]);
});

it('a record that is reused holds the next job, even if the thread did not look in between', () => {
  const first = keep({ text: 'first' });
  expect(texts()).toEqual(['first']);
  table.leave(first.record);

  const second = keep({ text: 'second' });

  expect(second.record).toBe(first.record);
  expect(texts()).toEqual(['second']);
});

it('a job that is written while it is read is found the next time', () => {
  const { number, record } = keep({ text: 'written' });
  const isOf = jest.spyOn(Object.getPrototypeOf(record) as LeaseRecord, 'isOf').mockReturnValue(false);
  expect(numbers()).toEqual([]);

  isOf.mockRestore();

  expect(numbers()).toEqual([number]);
});

it('a record that was left does not belong to its former job any more', () => {
  const { number, record } = keep();

  expect(record.isOf(number)).toBe(true);
  table.leave(record);

  expect(record.isOf(number)).toBe(false);
  expect(record.number).toBe(0);
});

it('each of many jobs has a record of its own', () => {
  const kept = Array.from({ length: 200 }, (_, index) => keep({ text: String(index) }));

  expect(new Set(kept.map(({ record }) => record)).size).toBe(200);
  expect(new Set(texts()).size).toBe(200);
});

it('a job that did not fit is not confused with the next job in its record', () => {
  const large = keep({ text: 'x'.repeat(2000) });
  table.leave(large.record);
  large.record.show(large.number + 1);

  expect(numbers()).toEqual([]);
});

it('both sides see a renewal by their own clocks, and never later than it was', () => {
  const [one, other] = [keep(), keep()];
  const heldOf = ({ number }: Kept): Held => thread.all.find((held) => held.number === number)!;
  expect(thread.all.map(({ record }) => record.leasedAt())).toEqual([1500, 1500]);

  heldOf(other).record.renew(at(4549, -SHIFT));
  one.record.renew(at(2000));

  expect([one, other].map(({ record }) => record.leasedAt())).toEqual([2000, 4000]);
  expect(heldOf(one).record.leasedAt()).toBe(2500);
});

it('a renewal that is written too late does not make the lease of the next job in the record younger', () => {
  const first = keep();
  const [held] = thread.all;
  table.leave(first.record);
  const second = keep();

  held!.record.renew(at(SHIFT + 900, -SHIFT));

  expect(second.record.leasedAt()).toBe(1000);
});

it('the age of a lease includes the time that the machine slept, on both sides', () => {
  const { record } = keep();
  const [held] = thread.all;

  expect(record.age(at(3000))).toBe(2000);
  expect(record.age(at(3000, 60_000))).toBe(62_000);
  expect(held!.record.age(at(3000 + SHIFT, 60_000 - SHIFT))).toBe(62_000);
  expect(record.age(at(3000, -60_000))).toBe(2000);
});

it('a lease renewed after a sleep of the machine is young on both sides', () => {
  const { record } = keep();
  const [held] = thread.all;

  record.renew(at(4000, 60_000));

  expect(record.age(at(5000, 60_000))).toBe(1000);
  expect(held!.record.age(at(5000 + SHIFT, 60_000 - SHIFT))).toBe(1000);
});

it('the thread sees an outcome that is foreseen only after it has read the job', () => {
  const { record } = keep();
  const [held] = thread.all;
  expect(held!.record.overdueAt).toBe(Infinity);

  record.foresee(6200, 2.5);

  expect([held!.record.overdueAt, held!.record.delay]).toEqual([6700, 2.5]);
});

it('the next job in a record does not inherit the foreseen outcome of the previous one', () => {
  const first = keep();
  first.record.foresee(6200, 2.5);
  first.record.end();
  table.leave(first.record);

  const { record } = keep();

  expect(record.overdueAt).toBe(Infinity);
});

it('a job that has ended is not overdue any more', () => {
  const { record } = keep();
  const [held] = thread.all;
  record.foresee(1000, 0);

  record.end();

  expect(held!.record.overdueAt).toBe(Infinity);
});

it('a timeout of many years does not overflow into a short one', () => {
  const { record } = keep();

  record.foresee(3e11, 0);

  expect(record.overdueAt).toBeGreaterThan(9e10);
});
