import { systemClock } from '../../../src/base/clock';
import { QueueUnavailableError } from '../../../src/connections/errors';
import { Lane, type LaneSettings } from '../../../src/connections/kit/lane';

interface Item {
  readonly name: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Records which items travel together, and ends each call when the test says so. */
function openLane(settings: Partial<LaneSettings<Item>> = {}) {
  const calls: string[] = [];
  const ends: (() => void)[] = [];
  const lane = new Lane<Item>({
    carry: async (items) => {
      calls.push(items.map(({ name }) => name).join());
      await new Promise<void>((resolve) => void ends.push(resolve));
      for (const { name, resolve } of items) if (name !== 'bad') resolve();
      if (items.some(({ name }) => name === 'bad')) throw new Error('refused');
    },
    ...settings,
  });
  const send = (name: string) => new Promise<void>((resolve, reject) => lane.send({ name, resolve, reject }));
  return { lane, calls, ends, send };
}

afterEach(() => jest.restoreAllMocks());

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

it('items that arrive during a call travel in the next one', async () => {
  const { calls, ends, send, lane } = openLane();
  const sent = [send('a'), send('b')];
  await turn();
  sent.push(send('c'), send('d'));
  await turn();
  expect(calls).toEqual(['a,b']);

  ends.shift()!();
  await turn();
  ends.shift()!();
  await Promise.all(sent);

  expect(calls).toEqual(['a,b', 'c,d']);
  await lane.settled;
  expect(lane.isIdle).toBe(true);
});

it('a call takes no more items than fit', async () => {
  const { calls, ends, send } = openLane({ fitting: (items) => Math.min(items.length, 2) });
  const sent = [send('a'), send('b'), send('c')];
  await turn();
  ends.shift()!();
  await turn();
  ends.shift()!();
  await Promise.all(sent);

  expect(calls).toEqual(['a,b', 'c']);
});

it('a call that fails rejects the items that it has not settled, and the next call goes out', async () => {
  const { calls, ends, send } = openLane({ fitting: (items) => Math.min(items.length, 2) });
  const [good, bad, next] = [send('good'), send('bad'), send('next')];
  await turn();
  ends.shift()!();
  await good;
  await expect(bad).rejects.toThrow('refused');
  await turn();
  ends.shift()!();
  await next;

  expect(calls).toEqual(['good,bad', 'next']);
});

it('several calls can be pending at once', async () => {
  const { calls, ends, send } = openLane({ atOnce: 2 });
  const sent = [send('a')];
  await turn();
  sent.push(send('b'));
  await turn();
  sent.push(send('c'));
  await turn();
  expect(calls).toEqual(['a', 'b']);

  ends.splice(0).forEach((end) => end());
  await turn();
  ends.splice(0).forEach((end) => end());
  await Promise.all(sent);
  expect(calls).toEqual(['a', 'b', 'c']);
});

it('waiting items are rejected, not sent one by one, when the store was silent until the deadline', async () => {
  const calls: string[] = [];
  let fail!: (error: Error) => void;
  const lane = new Lane<Item>({
    fitting: () => 1,
    carry: (items) => {
      calls.push(items.map(({ name }) => name).join());
      return new Promise((_, reject) => void (fail = reject));
    },
  });
  const send = (name: string) => new Promise<void>((resolve, reject) => lane.send({ name, resolve, reject }));
  const sent = [send('a'), send('b'), send('c')];
  await turn();
  const facts = { connection: 'main', store: 'Probe', address: 'here', consequence: 'nothing was sent', deadline: 60 };
  fail(new QueueUnavailableError({ ...facts, uncertain: true }));

  const refused = await Promise.all(sent.map((each) => each.catch((error: unknown) => error)));
  expect(refused).toMatchObject([{ facts: { uncertain: true } }, { facts: { uncertain: false } }, {}]);
  expect(calls).toEqual(['a']);
});

it('an item that came early in a call to a silent store is rejected with it, and one that came late is sent', async () => {
  const calls: string[] = [];
  let fail!: (error: Error) => void;
  const lane = new Lane<Item>({
    fitting: () => 1,
    carry: ([item]) => {
      calls.push(item!.name);
      return new Promise((resolve, reject) => (item!.name === 'c' ? resolve(item!.resolve()) : (fail = reject)));
    },
  });
  const send = (name: string) => new Promise<void>((resolve, reject) => lane.send({ name, resolve, reject }));
  const first = send('a');
  await turn();
  const soon = send('b');
  const deadline = 60;
  const now = systemClock.monotonic() + deadline * 1000;
  jest.spyOn(systemClock, 'monotonic').mockReturnValue(now);
  const late = send('c');
  fail(
    new QueueUnavailableError({ connection: 'main', store: 'Probe', address: 'here', consequence: 'none', deadline }),
  );

  await expect(first).rejects.toThrow(QueueUnavailableError);
  await expect(soon).rejects.toMatchObject({ facts: { uncertain: false } });
  await late;
  expect(calls).toEqual(['a', 'c']);
});

it('keeps no reference to earlier calls', async () => {
  const lane = new Lane<Item>({ carry: async (items) => items.forEach(({ resolve }) => resolve()) });
  for (const name of ['a', 'b', 'c']) {
    await new Promise<void>((resolve, reject) => lane.send({ name, resolve, reject }));
    await turn();
  }
  expect(await lane.settled).toBeUndefined();
});
