import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { BeanstalkdWorld } from '../connections/beanstalkd/open-beanstalkd';

/** Each case has a server of its own and moves its clock. */
async function openBeanstalkd(lease: number): Promise<ConformanceHarness> {
  const world = await BeanstalkdWorld.start();
  const connect = () => world.connect({}, { retryAfter: lease });
  return {
    connection: connect(),
    second: connect,
    advance: (seconds) => world.advance(seconds),
    dispose: () => world.stop(),
  };
}

/** Seconds. The server fixes the lease of a job when it is pushed, but these cases ask for another lease in their reserve. */
const LEASES: Readonly<Record<string, number>> = {
  'the time to look again is the earliest of all requested queues': 450,
  'the fence grows by exactly 1 with every reservation, however the previous one ended': 60,
  'a job whose lease has ended is handed out again, and the crash is counted but costs no try': 60,
  'a holder whose lease ended cannot settle or renew the job while it waits to be handed out again': 60,
  'an expired lease can still be renewed and settled until the job is handed to another worker': 60,
};

/** Promises that beanstalkd cannot keep, and why. `test/connections/beanstalkd` shows what it does instead. */
const OTHERWISE: Readonly<Record<string, string>> = {
  'a payload that must be distinct is refused while an equal one is delayed, and nothing changes':
    'the server never merges two jobs and cannot be asked for a payload',
  'a job is not handed to another worker before its lease ends, and the reply says when to look again':
    'the server does not say when the lease of another client ends; it wakes waiting clients instead',
  'an expired lease can still be renewed and settled until the job is handed to another worker':
    'the server takes a job back the moment its lease ends',
};

const LACKS = {
  moments: false,
  requeue: false,
  peek: false,
  failed: false,
  locks: false,
  follows: false,
  find: false,
  keys: false,
  batches: false,
  lanes: false,
  control: false,
  records: false,
} as const;

const cases = conformance(() => openBeanstalkd(600), LACKS).map((it) => {
  const lease = LEASES[it.name];
  if (lease === undefined) return it;
  return conformance(() => openBeanstalkd(lease), LACKS).find(({ name }) => name === it.name)!;
});

describe('the beanstalkd driver', () => {
  it.each(cases.filter(({ name }) => OTHERWISE[name] === undefined))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

// If one of these fails, the driver keeps the promise: remove it from OTHERWISE.
describe('the beanstalkd driver does not keep this promise:', () => {
  it.each(cases.filter(({ name }) => OTHERWISE[name] !== undefined))('$name', async ({ run }) => {
    await expect(run()).rejects.toMatchObject({ code: expect.any(String) });
  });
});

it('names only existing cases as exceptions of beanstalkd', () => {
  const names = new Set(cases.map(({ name }) => name));

  expect(Object.keys({ ...OTHERWISE, ...LEASES }).filter((name) => !names.has(name))).toEqual([]);
});
