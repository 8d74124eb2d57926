import { QueueUnavailableError } from '../../src/connections/errors';
import { Backlog } from '../../src/operations/history/backlog';
import { TestClock } from '../../src/testing/test-clock';
import { elapse, Gate, RecordingLogger } from '../support/application';

let clock: TestClock;
let log: RecordingLogger;
let written: string[][];
let fault: (() => Promise<void>) | undefined;

beforeEach(() => {
  clock = new TestClock();
  log = new RecordingLogger();
  written = [];
  fault = undefined;
});

function backlog(perSecond = 1000): Backlog<string> {
  const write = async (page: readonly string[]): Promise<void> => {
    await fault?.();
    written.push([...page]);
  };
  return new Backlog({
    what: 'histories of jobs',
    connection: 'redis',
    clock,
    logger: log,
    most: 10_000,
    perSecond,
    write,
  });
}

const away = async (): Promise<void> => {
  throw new QueueUnavailableError({ store: 'Redis', address: 'here', consequence: 'nothing was written' } as never);
};

function fill(one: Backlog<string>, count: number): void {
  for (let at = 0; at < count; at += 1) one.set(String(at), `item ${at}`);
}

it('writes the latest value of each key a second later, in pages of a hundred', async () => {
  const one = backlog();
  fill(one, 150);
  one.set('0', 'newer');

  await elapse(clock, 0.75);
  expect(written).toEqual([]);
  await elapse(clock, 0.5);

  expect(written.map(({ length }) => length)).toEqual([100, 50]);
  expect(written[0]?.[0]).toBe('newer');
});

it('writes no more per second than allowed', async () => {
  const one = backlog(100);
  fill(one, 250);

  await elapse(clock, 1);
  expect(written.flat()).toHaveLength(100);
  await elapse(clock, 1);
  expect(written.flat()).toHaveLength(200);
});

it('keeps what a store that is away has not taken, retries less and less often, and warns once', async () => {
  const one = backlog();
  let asked = 0;
  fault = () => {
    asked += 1;
    return away();
  };
  fill(one, 3);

  await elapse(clock, 60);
  expect(asked).toBeLessThan(8);
  expect(log.messages('warn')).toEqual([expect.stringContaining('The histories of jobs are not written: Redis')]);
  one.set('1', 'newer');
  fault = undefined;
  await elapse(clock, 31);

  expect(written).toEqual([['item 0', 'newer', 'item 2']]);
});

it('drops values that are refused, and goes on', async () => {
  const one = backlog();
  fault = async () => {
    throw new Error('too long');
  };
  fill(one, 3);
  await elapse(clock, 1);
  fault = undefined;
  one.set('next', 'next');

  await elapse(clock, 1);

  expect(written).toEqual([['next']]);
});

it('holds ten thousand values, and warns once that it drops the rest', async () => {
  const one = backlog();
  fill(one, 10_002);
  one.set('0', 'newer');

  expect(one.hasRoom).toBe(false);
  expect(one.get('0')).toBe('newer');
  expect(one.get('10001')).toBeUndefined();
  expect(log.messages('warn')).toEqual([expect.stringContaining('some are dropped')]);
  await one.close();
});

it('writes the remaining values when closed, but waits at most two seconds for a silent store', async () => {
  const one = backlog();
  fill(one, 150);
  await one.close();
  expect(written.flat()).toHaveLength(150);

  const other = backlog();
  const gate = new Gate();
  fault = () => gate.opened;
  fill(other, 1);
  let isClosed = false;
  const closed = other.close().then(() => (isClosed = true));
  await elapse(clock, 1.5);
  expect(isClosed).toBe(false);
  await elapse(clock, 1);
  expect(isClosed).toBe(true);
  gate.open();
  await closed;
});

it('keeps a value that arrives while its page is being written', async () => {
  const one = backlog();
  const gate = new Gate();
  fault = () => gate.opened;
  one.set('a', 'first');
  await elapse(clock, 1);
  one.set('a', 'second');
  gate.open();

  await elapse(clock, 2);

  expect(written).toEqual([['first'], ['second']]);
});
