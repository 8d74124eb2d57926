import { HeldReservation, unpack } from '../../src/worker/held-reservation';
import { type Numbered, pack } from '../../src/worker/lease-messages';
import { LeaseTerms, newTerms } from '../../src/worker/lease-terms';
import { holderOf } from './holder';

interface Crossing {
  /** As the worker writes them. */
  readonly terms: readonly LeaseTerms[];
  readonly held: readonly HeldReservation[];
}

function cross(jobs: readonly Numbered[], { reservedAt = 0, shift = 0 } = {}): Crossing {
  const memory = newTerms(jobs.length);
  const batch = pack(jobs, memory, reservedAt);
  const crossed = structuredClone(batch, { transfer: [batch.texts.buffer, batch.facts.buffer] });
  return {
    terms: jobs.map((_, index) => new LeaseTerms(memory, index, reservedAt)),
    held: unpack(crossed, shift),
  };
}

it('a batch crosses to another thread byte for byte, with queues, counters and tokens', () => {
  const jobs = [
    holderOf({ text: Buffer.from([0x7b, 0xff, 0x00, 0x7d]), counters: { attempts: 2, crashes: 3 } }),
    holderOf({ text: '', queue: 'high' }),
    holderOf({ text: '{"job":"ö"}', counters: { exceptions: 4, timeouts: 5, releases: 1e14 }, token: { id: 1 } }),
  ];

  const { held } = cross(jobs);

  expect(held.map(({ number }) => number)).toEqual(jobs.map(({ number }) => number));
  expect(held.map(({ reservation }) => reservation)).toEqual(jobs.map(({ reservation }) => reservation));
});

it('a renewal is seen by both, each by its own clock, and never later than it was', () => {
  const { terms, held } = cross([holderOf(), holderOf()], { reservedAt: 1000, shift: 500 });

  expect(held.map(({ leasedAt }) => leasedAt)).toEqual([1500, 1500]);
  held[1]!.leasedAt = 4509;
  expect(terms.map(({ leasedAt }) => leasedAt)).toEqual([1000, 4000]);
  terms[0]!.leasedAt = 2000;
  expect(held[0]!.leasedAt).toBe(2500);
});

it('what is known only when the handler starts is seen by the thread all the same', () => {
  const { terms, held } = cross([holderOf(), holderOf({ counters: { exceptions: 1, timeouts: 1 } })], { shift: 500 });

  terms[1]!.foresee(6200, 2.5);

  expect(held.map(({ overdueAt }) => overdueAt)).toEqual([Infinity, 6700]);
  expect(held[1]!.timedOut).toMatchObject({
    outcome: 'released',
    delay: 2.5,
    counters: { attempts: 1, crashes: 0, exceptions: 2, timeouts: 2, releases: 0 },
  });
});

it('a job that is given up goes back at no cost in tries', () => {
  const { held } = cross([holderOf({ counters: { attempts: 2 } })]);

  expect(held[0]!.givenUp).toMatchObject({ outcome: 'released', delay: 0, counters: { attempts: 1, releases: 1 } });
});

it('a job that has ended is overdue no more, and is given up as completed if that is what it was', () => {
  const { terms, held } = cross([holderOf(), holderOf()]);
  for (const one of terms) one.foresee(1000, 0);

  terms[0]!.end(true);
  terms[1]!.end(false);

  expect(held.map(({ overdueAt }) => overdueAt)).toEqual([Infinity, Infinity]);
  expect(held.map(({ givenUp }) => givenUp.outcome)).toEqual(['completed', 'released']);
});

it('a timeout of years is watched for as one of months, and not as one of no time', () => {
  const { terms, held } = cross([holderOf()]);

  terms[0]!.foresee(3e10, 0);

  expect(held[0]!.overdueAt).toBeGreaterThan(2e10);
});
