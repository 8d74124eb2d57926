/**
 * Runs against a server of the tests. Where the environment gives SQS_REGION or SQS_ENDPOINT, and credentials that the AWS SDK
 * finds, it runs against that, on queues that it makes and removes; what else moves a clock then waits, an hour in all.
 */
import type { SqsConfig } from '../../src/connections/sqs/driver';
import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { SqsWorld } from '../connections/sqs/open-sqs';
import { hasRealSqs, RealSqs } from '../connections/sqs/real-sqs';

const NO_MOMENT = 'SQS does not say when a message becomes visible';
const ENDS_AT_ONCE = 'a receipt is worth nothing once its visibility has ended';
const TRIES = 'each delivery is a try';

/** Promises that SQS lets nobody keep. */
const UNKEPT: Readonly<Record<string, string>> = {
  'a delayed job is not handed out before its moment, and says when to look again': NO_MOMENT,
  'the moment to look again is the earliest of all queues that were asked for': NO_MOMENT,
  'a job is not handed to another worker before its lease has ended, and says when to look again': NO_MOMENT,
  'a text that must be unique is refused while it waits as delayed, and nothing changes':
    'two messages of one text are two jobs, of which none is lost',
  'a lease that has ended is still its holder’s until the job is handed on: it can be renewed and settled':
    ENDS_AT_ONCE,
  'clearing removes what is ready, delayed and reserved, and says how many': 'a queue is cleared once in a minute',
  'the queues that were pushed to are known, to every client': 'SQS lists the queues that there are, used or not',
};

/** And of a FIFO queue, which is never sent anew what it holds. */
const UNKEPT_BY_FIFO: Readonly<Record<string, string>> = {
  'a job is not handed to another worker before its lease has ended, and says when to look again': NO_MOMENT,
  'a lease that has ended is still its holder’s until the job is handed on: it can be renewed and settled':
    ENDS_AT_ONCE,
  'a released job keeps the tries, exceptions and timeouts that it is given back with': TRIES,
  'a job whose lease has ended is handed out again: the crash is counted and costs no try': TRIES,
  'a renewed lease starts anew: the job stays with its holder past the first end, and no further than the new': TRIES,
  'a settle and the reserve after it see one another: what was released can be had again': TRIES,
  'the same text without an id pushed twice is two jobs, also when both are handed out by one call':
    'here without an id they are of one group, and run one after the other',
};

/** Where a short poll finds nothing on AWS, it may have asked the wrong ones of the servers: what must come at once, may not. */
const AT_ONCE = /strictly in the order|the first named|see one another/;

if (hasRealSqs) jest.setTimeout(30 * 60_000);

let world: SqsWorld | RealSqs;
let stores = 0;

beforeAll(async () => {
  world = hasRealSqs ? new RealSqs() : await SqsWorld.start();
});

afterAll(() => world.stop());

const QUEUES = ['probes', 'more-probes', 'first', 'second', 'third', 'only-looked-at', 'never-pushed-to', 'unused'];
const LACKING = {
  moments: false,
  exactCounts: false,
  order: false,
  follows: false,
  ties: false,
  batches: false,
  requeue: false,
  peek: false,
  failed: false,
  locks: false,
  control: false,
  operations: false,
} as const;

const opens =
  (ending: string, config: Partial<SqsConfig> = {}) =>
  async (): Promise<ConformanceHarness> => {
    const suffix = `-${++stores}${ending}`;
    for (const queue of QUEUES) await world.createQueue(queue + suffix);
    const connect = () => world.connect({ suffix, ...config });
    return {
      connection: connect(),
      second: connect,
      advance: (seconds) => world.advance(seconds),
      dispose: () => world.close(),
    };
  };

describe('the sqs driver on standard queues', () => {
  const promised = conformance(opens(''), LACKING).filter(({ name }) => !hasRealSqs || !AT_ONCE.test(name));

  it.each(promised.filter(({ name }) => !(name in UNKEPT)))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });

  it.each(Object.keys(UNKEPT).filter((name) => !hasRealSqs || !AT_ONCE.test(name)))('cannot keep: %s', async (name) => {
    await expect(promised.find((one) => one.name === name)!.run()).rejects.toHaveProperty('message');
  });
});

describe('the sqs driver on FIFO queues, each job of a group of its own', () => {
  const group: SqsConfig['group'] = ({ id }) => (typeof id === 'string' ? id : undefined);
  const promised = conformance(opens('.fifo', { group }), LACKING).filter(
    ({ requires }) => !requires.includes('delay'),
  );
  const unkept = { ...UNKEPT, ...UNKEPT_BY_FIFO };

  it.each(promised.filter(({ name }) => !(name in unkept)))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });

  it.each(Object.keys(UNKEPT_BY_FIFO))('cannot keep: %s', async (name) => {
    await expect(promised.find((one) => one.name === name)!.run()).rejects.toHaveProperty('message');
  });
});
