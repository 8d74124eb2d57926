import { account, type Account, type Expectations, type Holdings } from './accounting';
import type { Event, LedgerLine } from './ledger';

const nothing: Holdings = { waiting: new Set(), failed: new Map() };

const line = (pid: number, event: Event, fence: number, attempts = 1): LedgerLine => ({
  at: 0,
  pid,
  event,
  id: 'job',
  fence,
  attempts,
  note: '',
});

function accountOf(
  lines: readonly LedgerLine[],
  holdings: Partial<Holdings> = {},
  expected: Partial<Expectations> = {},
): Account {
  return account(lines, { ...nothing, ...holdings }, { dispatched: ['job'], ...expected });
}

const once = [line(1, 'started', 1), line(1, 'done', 1), line(1, 'completed', 1)];

it('a job that ran once and was completed is correct', () => {
  expect(accountOf(once)).toMatchObject({ dispatched: 1, completed: 1, lost: 0, again: 0, offences: [] });
});

it.each([
  ['waits', { waiting: new Set(['job']) }],
  ['has failed as poison', { failed: new Map([['job', 3]]) }],
])('a job that %s is correct', (_where, holdings) => {
  expect(accountOf([], holdings).offences).toEqual([]);
});

it('a job that was killed after its end and is gone from the store counts as completed', () => {
  expect(accountOf([line(1, 'started', 1), line(1, 'done', 1)])).toMatchObject({ completed: 1, offences: [] });
});

it('a second run after a kill is correct and counted', () => {
  const lines = [line(1, 'started', 1), line(2, 'started', 2), line(2, 'done', 2), line(2, 'completed', 2)];

  expect(accountOf(lines, {}, { disturbed: new Set([1]) })).toMatchObject({ again: 1, offences: [] });
  expect(accountOf(lines).offences).toEqual([expect.stringContaining('job ran again without cause')]);
});

it.each([
  ['is lost', 'that is in no place', [line(1, 'started', 1)], {}],
  ['is in two places', 'that was completed and waits', once, { waiting: new Set(['job']) }],
  ['was completed twice', 'whose stale outcome counted', [...once, line(2, 'started', 2), line(2, 'completed', 2)], {}],
  ['ran twice under one fence', 'that two processes held at once', [...once, line(2, 'started', 1)], {}],
  ['ran after its end', 'that came back', [...once, line(2, 'started', 2)], {}],
  ['failed without cause', 'that failed though nothing threw', [], { failed: new Map([['job', 2]]) }],
  ['lost a try', 'whose crash cost a try', [line(1, 'started', 2, 2), line(1, 'done', 2)], {}],
])('reports "%s" for a job %s', (offence, _what, lines, holdings) => {
  expect(accountOf(lines, holdings, { disturbed: new Set([1]) }).offences.join('\n')).toContain(`job ${offence}`);
});

it('a job whose dispatch got no answer may exist or not, but not twice', () => {
  expect(accountOf([], {}, { dispatched: [], uncertain: ['job'] }).offences).toEqual([]);
  expect(accountOf(once, {}, { dispatched: [], uncertain: ['job'] }).offences).toEqual([]);
  expect(accountOf(once, {}, { dispatched: [] }).offences.join()).toContain('was never dispatched');
});
