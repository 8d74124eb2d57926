import type { RedisCaller } from '../../../src/connections/redis/caller';
import { HintRead, type HintWait } from '../../../src/connections/redis/exchange';
import type { Form, RedisLink } from '../../../src/connections/redis/link';
import { TestClock } from '../../../src/testing/test-clock';

const INTERRUPTION = 'interruption';

let clock: TestClock;
let read: HintRead;
/** The blocking reads: their keys, and functions to answer them. */
let reads: {
  readonly keys: readonly unknown[];
  readonly seconds: unknown;
  answer: (key?: string) => Promise<void>;
  fail: () => Promise<void>;
}[];
/** The lists in which a hint was left. */
let left: string[];
let forgotten: string[];
let woken: string[];
/** How many commands were sent behind a read. */
let behind: number;
let isClosed: boolean;

beforeEach(() => {
  clock = new TestClock();
  [reads, left, forgotten, woken, behind, isClosed] = [[], [], [], [], 0, false];
  let lose = (): void => undefined;
  let carryOut = (): void => undefined;
  const send = ([command, args]: Form): unknown => {
    if (command === 'evalsha') {
      behind += 1;
      // Carried out as soon as the read has ended.
      return { reply: new Promise((resolve) => (carryOut = () => resolve('carried out'))), sent: true };
    }
    let settle!: (reply: readonly Buffer[] | null) => void;
    let reject!: (error: Error) => void;
    const reply = new Promise((resolve, refuse) => ([settle, reject] = [resolve, refuse]));
    const fail = async (): Promise<void> => {
      reject(Object.assign(new Error('NOAUTH'), { name: 'ReplyError' }));
      await clock.advance(0);
    };
    const answer = async (key?: string): Promise<void> => {
      carryOut();
      settle(key === undefined ? null : [Buffer.from(key), Buffer.from('1')]);
      await clock.advance(0);
    };
    lose = () => {
      reject(new Error('the connection ended'));
      carryOut();
    };
    reads.push({ keys: args.slice(0, -1), seconds: args.at(-1), answer, fail });
    return { reply, sent: true, client: undefined };
  };
  const command = async (name: string, [key]: readonly string[]): Promise<void> =>
    void (name === 'del' ? forgotten : left).push(key!);
  read = new HintRead({
    caller: { settings: { clock }, command } as unknown as RedisCaller,
    link: { send, replace: () => lose(), close: () => {} } as unknown as RedisLink,
    interruption: INTERRUPTION,
    longest: 2,
    closed: () => (isClosed = true),
  });
});

function join(name: string, keys: readonly string[], seconds = 2): HintWait {
  return read.waitFor(keys, seconds, () => woken.push(name));
}

const asked = (): readonly unknown[] => reads.at(-1)!.keys;

it('waiters share one read, and a hint wakes a waiter of its queue', async () => {
  join('mail', ['mail']);
  join('both', ['mail', 'images']);
  await reads[0]!.answer(INTERRUPTION);
  expect(asked()).toEqual([INTERRUPTION, 'mail', 'images']);

  await reads[1]!.answer('images');

  expect(woken).toEqual(['both']);
  expect(reads).toHaveLength(3);
  expect(asked()).toEqual([INTERRUPTION, 'mail']);
});

it('each hint wakes the waiter that has waited longest', async () => {
  for (const name of ['first', 'second', 'third']) join(name, ['mail']);

  await reads[0]!.answer('mail');
  expect(woken).toEqual(['first']);
  await reads[1]!.answer('mail');

  expect(woken).toEqual(['first', 'second']);
  expect(left).toEqual([]);
});

it('waiters with new keys make the read restart, once for all of them', async () => {
  join('mail', ['mail']);
  join('more mail', ['mail']);
  expect(left).toEqual([]);

  join('images', ['images']);
  join('sounds', ['sounds']);
  expect(left).toEqual([INTERRUPTION]);
  await reads[0]!.answer(INTERRUPTION);

  expect(woken).toEqual([]);
  expect(asked()).toEqual([INTERRUPTION, 'mail', 'images', 'sounds']);
});

it('a hint that nobody waits for any more is given back and not read again', async () => {
  const images = join('images', ['images']);
  join('mail', ['mail']);
  await reads[0]!.answer(INTERRUPTION);
  read.leave(images);

  await reads[1]!.answer('images');

  expect(woken).toEqual([]);
  expect(left).toEqual([INTERRUPTION, 'images']);
  expect(asked()).toEqual([INTERRUPTION, 'mail']);
});

it('a waiter that joins a read late waits for its full time', async () => {
  join('early', ['mail']);
  await clock.advance('1s');
  const late = join('late', ['mail']);
  await clock.advance('1s');
  await reads[0]!.answer();

  expect(reads.map(({ seconds }) => seconds)).toEqual([2, 1]);

  read.leave(late);
  await clock.advance('1s');
  await reads[1]!.answer();
  expect(reads).toHaveLength(2);
});

describe('a command that follows a read', () => {
  /** How many commands were left to whoever brought them. */
  let returned: number;
  const bring = (): AbortController => {
    const end = new AbortController();
    const reply = read.follow(['evalsha', []], ['mail'], 2, end.signal);
    void reply.then((answer) => (returned += answer === undefined ? 1 : 0));
    return end;
  };

  beforeEach(() => (returned = 0));

  it('is sent behind it and takes the job of its hint', async () => {
    bring();
    expect([reads.length, behind]).toEqual([1, 1]);
    await reads[0]!.answer('mail');
    expect([reads.length, behind]).toEqual([1, 1]);
    expect(left).toEqual([]);
  });

  it('ends the current read, and its own when it is no longer wanted', async () => {
    join('mail', ['mail']);
    const end = bring();
    expect([left, behind]).toEqual([[INTERRUPTION], 0]);
    await reads[0]!.answer(INTERRUPTION);
    expect(behind).toBe(1);
    end.abort();
    expect(left).toEqual([INTERRUPTION, INTERRUPTION]);
  });

  it('is left to its sender at once when the previous read brings its hint', async () => {
    read.leave(join('mail', ['mail']));
    bring();
    await reads[0]!.answer('mail');
    expect([reads.length, behind, returned]).toEqual([1, 0, 1]);
    expect(left).toEqual([INTERRUPTION]);
  });

  it('is left to its sender when the previous read fails, or when it is no longer wanted', async () => {
    join('mail', ['mail']);
    bring().abort();
    await clock.advance(0);
    expect(returned).toBe(1);
    bring();
    await reads[0]!.fail();
    expect([returned, behind]).toEqual([2, 0]);
  });

  it('should not be sent behind a read while Redis has not answered the last one, which nothing could end', async () => {
    bring();
    await clock.advance('4500ms');
    expect(read.isFree()).toBe(false);

    join('mail', ['mail']);
    await reads[1]!.answer('mail');
    expect(read.isFree()).toBe(true);
  });

  it('is left to its sender when the read is closed first, or later, or it would wait for ever', async () => {
    join('mail', ['mail']);
    bring();
    read.close();
    bring();
    await clock.advance(0);
    expect([returned, behind]).toEqual([2, 0]);
  });
});

it('a read is closed when nobody has waited for ten seconds', async () => {
  join('mail', ['mail']);
  await reads[0]!.answer('mail');
  await clock.advance('9s');
  join('mail', ['mail']);
  await reads[1]!.answer('mail');
  await clock.advance('9s');
  expect(isClosed).toBe(false);
  await clock.advance('1s');
  expect(isClosed).toBe(true);
});

it('a closed read leaves no list behind that was meant to restart it', async () => {
  join('mail', ['mail']);
  join('images', ['images']);

  read.close();

  expect(forgotten).toEqual([INTERRUPTION]);
});
