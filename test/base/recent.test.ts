import { Recent } from '../../src/base/collections';

it('only the most recent entries are kept, however many there are', () => {
  const recent = new Recent<string, number>(3);
  for (let at = 0; at < 100_000; at += 1) recent.set(`queue-${at}`, at);

  expect([recent.size, recent.get('queue-99999'), recent.has('queue-0')]).toEqual([3, 99_999, false]);
});

it('an entry that is needed stays, and the oldest one that is not needed goes instead', () => {
  const recent = new Recent<string, boolean>(2, (mayGo) => mayGo);
  for (const [key, mayGo] of [
    ['busy', false],
    ['idle', true],
    ['new', false],
    ['newer', false],
  ] as const)
    recent.set(key, mayGo);

  expect(['busy', 'idle', 'new', 'newer'].map((key) => recent.has(key))).toEqual([true, false, true, true]);
});

it('needed entries go once they are no longer needed, without scanning all of them for each new one', () => {
  let isNeeded = true;
  let looks = 0;
  const recent = new Recent<number, number>(10, () => {
    looks += 1;
    return !isNeeded;
  });
  for (let at = 0; at < 1000; at += 1) recent.set(at, at);
  const needed = recent.size;
  isNeeded = false;
  for (let at = 1000; at < 5000; at += 1) recent.set(at, at);

  expect([needed, recent.size, looks < 10_000, recent.has(4999)]).toEqual([1000, 10, true, true]);
});
