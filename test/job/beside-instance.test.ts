import { attachContext, contextOf } from '../../src/job/choices';
import type { JobContext } from '../../src/job/job-context';

const context = (): JobContext => ({}) as JobContext;

it('a job has the context of its last run, and no other job has one', () => {
  const job = {};
  attachContext(job, context());
  const last = context();
  attachContext(job, last);

  expect(contextOf(job)).toBe(last);
  expect(contextOf({})).toBeUndefined();
});

it.each([
  ['frozen', Object.freeze({ to: 'ada' })],
  ['without a prototype', Object.create(null) as object],
])('a job that is %s can have a context, which does not show in its properties', (_, job) => {
  const before = Reflect.ownKeys(job);
  const given = context();

  attachContext(job, given);

  expect(contextOf(job)).toBe(given);
  expect(Reflect.ownKeys(job)).toEqual(before);
  expect(contextOf({ ...job })).toBeUndefined();
});
