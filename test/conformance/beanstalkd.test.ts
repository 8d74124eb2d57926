import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { BeanstalkdWorld } from '../connections/beanstalkd/open-beanstalkd';

/** Each case has a server of its own, whose clock it moves. */
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

/** Seconds. The server fixes the lease of a job when it is pushed; these cases ask for another one when they reserve. */
const LEASES: Readonly<Record<string, number>> = {
  'the moment to look again is the earliest of all queues that were asked for': 450,
  'the fence grows by exactly 1 with every reservation, however the one before ended': 60,
  'a job whose lease has ended is handed out again: the crash is counted and costs no try': 60,
  'a holder that was too late cannot touch the job while it waits to be handed out again': 60,
  'a lease that has ended is still its holder’s until the job is handed on: it can be renewed and settled': 60,
};

/** What beanstalkd does in its own way, and why; `test/connections/beanstalkd` shows what that is. */
const OTHERWISE: Readonly<Record<string, string>> = {
  'a text that must be unique is refused while it waits as delayed, and nothing changes':
    'the server never makes one job of two, and can be asked for no text',
  'a job is not handed to another worker before its lease has ended, and says when to look again':
    'the server tells nobody when the lease of another one ends; it wakes who waits',
  'a lease that has ended is still its holder’s until the job is handed on: it can be renewed and settled':
    'the server takes a job back in the moment in which its lease ends',
};

const LACKS = {
  moments: false,
  requeue: false,
  peek: false,
  failed: false,
  locks: false,
  follows: false,
  ties: false,
  batches: false,
  control: false,
  operations: false,
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

// A promise that is kept after all is to be moved up.
describe('the beanstalkd driver does not keep this promise:', () => {
  it.each(cases.filter(({ name }) => OTHERWISE[name] !== undefined))('$name', async ({ run }) => {
    await expect(run()).rejects.toMatchObject({ code: expect.any(String) });
  });

  it('and no other', () => {
    const names = new Set(cases.map(({ name }) => name));

    expect(Object.keys({ ...OTHERWISE, ...LEASES }).filter((name) => !names.has(name))).toEqual([]);
  });
});
