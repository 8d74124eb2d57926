/**
 * Runs against a server of the tests. If the environment has SQS_REGION or SQS_ENDPOINT, and credentials that the AWS SDK
 * finds, it runs against that service, on queues that it makes and removes. Moving the clock then means waiting, an hour in all.
 */
import type { SqsConfig } from '../../src/connections/sqs/driver';
import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { SqsWorld } from '../connections/sqs/open-sqs';
import { hasRealSqs, RealSqs } from '../connections/sqs/real-sqs';

const NO_MOMENT = 'SQS does not say when a message becomes visible';
const ENDS_AT_ONCE = 'a receipt is invalid once its visibility timeout has ended';
const TRIES = 'each delivery costs a try';

/** Promises that no driver can keep on SQS. */
const UNKEPT: Readonly<Record<string, string>> = {
  'a delayed job is not handed out early, and the reply says when to look again': NO_MOMENT,
  'the time to look again is the earliest of all requested queues': NO_MOMENT,
  'a job is not handed to another worker before its lease ends, and the reply says when to look again': NO_MOMENT,
  'a payload that must be distinct is refused while an equal one is delayed, and nothing changes':
    'two messages with equal bodies are two jobs, and neither is lost',
  'an expired lease can still be renewed and settled until the job is handed to another worker': ENDS_AT_ONCE,
  'clearing removes ready, delayed and reserved jobs and returns their number':
    'SQS clears a queue at most once a minute',
  'every client knows the queues that were pushed to': 'SQS lists every existing queue, used or not',
};

/** On a FIFO queue, which does not accept a message again that it already holds. */
const UNKEPT_BY_FIFO: Readonly<Record<string, string>> = {
  'a job is not handed to another worker before its lease ends, and the reply says when to look again': NO_MOMENT,
  'an expired lease can still be renewed and settled until the job is handed to another worker': ENDS_AT_ONCE,
  'a released job keeps the attempts, exceptions and timeouts that it is given back with': TRIES,
  'a job whose lease has ended is handed out again, and the crash is counted but costs no try': TRIES,
  'a renewed lease lasts past its first end, and no longer than the new one': TRIES,
  'a reserve combined with a settle can hand out the jobs that the settle released': TRIES,
  'equal payloads without an id are separate jobs, even when one call hands them all out':
    'without an id they share one group here and run one after the other',
};

/** Cases that need a job at once. A short poll on AWS may ask servers that do not have it yet. */
const AT_ONCE = /strictly in the order|combined with a settle can/;

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
  find: false,
  keys: false,
  batches: false,
  lanes: false,
  requeue: false,
  peek: false,
  failed: false,
  locks: false,
  control: false,
  records: false,
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

describe('the sqs driver on FIFO queues with a group for each job', () => {
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
