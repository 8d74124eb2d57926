/** Modules that a runner evaluates anew, with onqueue or without. */
import { Queue } from 'onqueue';

declare const vi: { resetModules(): void } | undefined;

const reset = () => (typeof vi === 'undefined' ? jest.resetModules() : vi.resetModules());

test('a job is dispatched and run after its module was evaluated anew', async () => {
  using queue = Queue.fake();
  const { Greet: Before } = await import('./src/greet');
  reset();
  const { Greet } = await import('./src/greet');
  expect(Greet).not.toBe(Before);

  await Greet.dispatch('Ada');
  await Before.dispatch('Eve');

  queue.assertPushedTimes(Greet, 2);
  const { completed } = await queue.drain({ throwOnFailure: true });
  expect(completed.map(({ value }) => value)).toEqual(['hello Ada', 'hello Eve']);
  expect(completed.every(({ job }) => job instanceof Greet)).toBe(true);
});
