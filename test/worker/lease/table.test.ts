import type { HeldReservation } from '../../../src/worker/lease/thread/held-reservation';
import { LeaseReader } from '../../../src/worker/lease/thread/reader';
import type { Place } from '../../../src/worker/lease/place';
import { LeaseTable } from '../../../src/worker/lease/table';
import { holderOf, type HolderFacts } from './holder';

/** The clock of the thread is so much ahead of the worker's. */
const SHIFT = 500;
const RESERVED_AT = 1000;

let table: LeaseTable;
let reader: LeaseReader;
let held: HeldReservation[];
let gone: number[];

beforeEach(() => {
  held = [];
  gone = [];
  table = new LeaseTable(0);
  reader = new LeaseReader({
    origin: SHIFT,
    found: (one) => held.push(one),
    gone: ({ number }) => gone.push(number),
  });
});

interface Kept {
  readonly number: number;
  readonly place: Place;
}

function keep(facts: HolderFacts = {}): Kept {
  const { number, reservation } = holderOf(facts);
  const known = table.pages.length;
  const place = table.take(RESERVED_AT);
  for (const page of table.pages.slice(known)) reader.addPage(page);
  if (!place.write(reservation)) reader.send(number, reservation);
  place.show(number);
  return { number, place };
}

it('jobs are found byte for byte, with queues and counters, also those that have no room beside the others', () => {
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
  const some = reader.look();

  const expected = jobs.map((facts) => holderOf(facts).reservation);
  expect(held.map(({ reservation }) => reservation)).toEqual(expect.arrayContaining(expected));
  expect(held.map(({ number }) => number).toSorted()).toEqual(kept.map(({ number }) => number));
  expect(some).toBe(true);
});

it('a token of numbers and texts has room beside the others, any other one has not', () => {
  const fits = (token: unknown): boolean => {
    return table.take(RESERVED_AT).write(holderOf({ token }).reservation);
  };

  expect([{ id: 1, fence: 2 }, { handle: 'text' }, {}, undefined].map(fits)).toEqual([true, true, true, true]);
  expect([1n, null, [1], new Date(), new Map(), { at: NaN }, { of: {} }].map(fits)).not.toContain(true);
});

it('a token that is read while another one is written is nobody’s, and breaks nothing', () => {
  const { number, place } = keep({ token: { id: 1 } });
  const memory = Buffer.from(table.pages[0]!);
  memory[memory.indexOf('{"id":1}')] = 0;
  reader.look();
  expect(held).toEqual([]);

  place.write(holderOf({ token: { id: 1 } }).reservation);
  reader.look();

  expect(held.map((one) => one.number)).toEqual([number]);
});

it('a job is found once, and said to be gone once', () => {
  const { number, place } = keep();
  reader.look();
  reader.look();

  table.leave(place);

  expect(reader.look()).toBe(false);
  expect(reader.look()).toBe(false);
  expect(held.map((one) => one.number)).toEqual([number]);
  expect(gone).toEqual([number]);
});

it('a place is another job’s after the one that it was of, without a look between', () => {
  const first = keep({ text: 'first' });
  reader.look();
  table.leave(first.place);
  const second = keep({ text: 'second' });

  reader.look();

  expect(second.place).toBe(first.place);
  expect(gone).toEqual([first.number]);
  expect(held.map(({ reservation }) => reservation.payload.toString())).toEqual(['first', 'second']);
});

it('a job that is written while it is read is found at the next look', () => {
  const { number, place } = keep({ text: 'written' });
  const isOf = jest.spyOn(Object.getPrototypeOf(place) as Place, 'isOf').mockReturnValue(false);
  reader.look();
  expect(held).toEqual([]);

  isOf.mockRestore();
  reader.look();

  expect(held.map((one) => one.number)).toEqual([number]);
});

it('what is read before a place changes hands is told from what is whole', () => {
  const { number, place } = keep();

  expect(place.isOf(number)).toBe(true);
  table.leave(place);

  expect(place.isOf(number)).toBe(false);
  expect(place.number).toBe(0);
});

it('as many jobs as there are have places of their own', () => {
  const kept = Array.from({ length: 200 }, (_, index) => keep({ text: String(index) }));

  reader.look();

  expect(new Set(kept.map(({ place }) => place)).size).toBe(200);
  expect(new Set(held.map(({ reservation }) => reservation.payload.toString())).size).toBe(200);
});

it('a renewal is seen by both, each by its own clock, and never later than it was', () => {
  const [one, other] = [keep(), keep()];
  reader.look();
  const heldOf = ({ number }: Kept): HeldReservation => held.find((known) => known.number === number)!;

  expect(held.map(({ leasedAt }) => leasedAt)).toEqual([1500, 1500]);
  heldOf(other).leasedAt = 4549;
  expect(other.place.leasedAt).toBe(4000);
  expect(one.place.leasedAt).toBe(1000);
  one.place.leasedAt = 2000;
  expect(heldOf(one).leasedAt).toBe(2500);
});

it('a renewal that is written down too late is of the job before, and no later than the beginning of the next', () => {
  const first = keep();
  reader.look();
  table.leave(first.place);
  const second = keep();

  held[0]!.leasedAt = SHIFT + RESERVED_AT;

  expect(second.place.leasedAt).toBe(RESERVED_AT);
});

it('what is known only when the handler starts is seen by the thread all the same', () => {
  const { place } = keep({ counters: { exceptions: 1, timeouts: 1 } });
  reader.look();
  expect(held[0]!.overdueAt).toBe(Infinity);

  place.foresee(6200, 2.5);

  expect(held[0]!.overdueAt).toBe(6700);
  expect(held[0]!.timedOut).toMatchObject({
    outcome: 'released',
    delay: 2.5,
    counters: { attempts: 1, crashes: 0, exceptions: 2, timeouts: 2, releases: 0 },
  });
});

it('what was foreseen of a job is not of the next one in its place', () => {
  const first = keep();
  first.place.foresee(6200, 2.5);
  first.place.end(true);
  table.leave(first.place);
  keep();

  reader.look();

  expect(held[0]!.overdueAt).toBe(Infinity);
  expect(held[0]!.givenUp.outcome).toBe('released');
});

it('a job that is given up goes back at no cost in tries', () => {
  keep({ counters: { attempts: 2 } });
  reader.look();

  expect(held[0]!.givenUp).toMatchObject({ outcome: 'released', delay: 0, counters: { attempts: 1, releases: 1 } });
});

it.each([
  [true, 'completed'],
  [false, 'released'],
])('a job that has ended is overdue no more, and is given up as what it was (completed: %s)', (completed, outcome) => {
  const { place } = keep();
  reader.look();
  place.foresee(1000, 0);

  place.end(completed);

  expect(held[0]!.overdueAt).toBe(Infinity);
  expect(held[0]!.givenUp.outcome).toBe(outcome);
});

it('a timeout of many years is watched for as one of some, and not as one of no time', () => {
  const { place } = keep();
  reader.look();

  place.foresee(3e11, 0);

  expect(held[0]!.overdueAt).toBeGreaterThan(9e10);
});

it('a text that had no room is forgotten with its job', () => {
  const { number, place } = keep({ text: 'x'.repeat(2000) });
  table.leave(place);
  reader.forget(number);
  place.show(number);

  reader.look();

  expect(held).toEqual([]);
});
