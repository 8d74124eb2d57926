import type { BeanstalkdConnection } from '../../../src/connections/beanstalkd/connection';
import { noCounters } from '../../../src/payload/counters';
import type { Reservation, Settlement } from '../../../src/connections/contract';
import { eventually } from '../../support/eventually';
import { meantToPass } from '../../support/meant-to-pass';
import { BeanstalkdWorld, callsOf, completed, idOf, probe } from './open-beanstalkd';
import { settleIn } from '../../support/exchange';

let world: BeanstalkdWorld;
let connection: BeanstalkdConnection;

beforeEach(async () => {
  world = await BeanstalkdWorld.start();
  connection = world.connect();
});

afterEach(() => world.stop());

const { push, reserve, reserveOne, ids } = callsOf(() => connection);
const released = (reservation: Reservation, more: object = {}): Settlement => ({
  outcome: 'released',
  reservation,
  delay: 0,
  counters: reservation.counters,
  ...more,
});
/** What the server reports about a job, by its number. */
const factsOf = async (job: number): Promise<string> => world.server.say(`stats-job ${job}`);

describe('the order of a tube', () => {
  it('follows the age of jobs: a job that was delayed or given back keeps its place', async () => {
    await connection.push('default', [{ payload: probe('later'), delay: 30 }]);
    await push('first', 'second');
    await settleIn(connection, [released(await reserveOne())]);
    await world.advance(31);

    expect(await ids()).toEqual(['first', 'later', 'second']);
  });

  it('follows the priority of the pushing connection before the age', async () => {
    await push('usual');
    await world.connect({ priority: 600 }).push('default', [{ payload: probe('idle') }]);
    await world.connect({ priority: 1 }).push('default', [{ payload: probe('urgent') }]);

    expect(await ids()).toEqual(['urgent', 'usual', 'idle']);
  });
});

describe('a lease', () => {
  it('ends with the connection that holds the job, and counts as a crash', async () => {
    const other = world.connect();
    await push('a');
    await reserveOne(other);
    await other.close();

    await eventually(async () => (await connection.queues.counts('default')).ready === 1);
    expect((await reserveOne()).counters).toEqual({ ...noCounters, attempts: 1, crashes: 1 });
  });

  it('cannot be settled or renewed after its end, whether the job waits or was taken and given back by another', async () => {
    await push('a', 'b');
    const { reservations } = await reserve();
    await world.advance(61);
    const [a, b] = reservations.map(completed);
    expect(await settleIn(connection, [a!])).toEqual(['lost']);

    const other = world.connect();
    const taken = await reserve({}, other);
    await settleIn(
      other,
      taken.reservations.map((reservation) => released(reservation, { delay: 300 })),
    );

    expect(await settleIn(connection, [b!])).toEqual(['lost']);
    expect(await connection.renew(reservations, 60)).toEqual(['lost', 'lost']);
    expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 2, reserved: 0 });
  });

  it('is a new one when the same connection gets the same job again', async () => {
    await push('a');
    const stale = await reserveOne();
    await world.advance(61);
    const again = await reserveOne();

    expect(await settleIn(connection, [completed(stale), released(stale)])).toEqual(['lost', 'lost']);
    expect(await connection.renew([stale], 60)).toEqual(['lost']);
    expect(await settleIn(connection, [completed(again)])).toEqual(['settled']);
  });

  it('is kept alive if it is longer than the one the job was pushed with', async () => {
    await world.connect({}, { retryAfter: meantToPass(1) }).push('default', [{ payload: probe('a') }]);
    const reservation = await reserveOne();
    const touches = async (): Promise<number> => Number(/cmd-touch: (\d+)/.exec(await world.server.say('stats'))![1]);

    // One touch every third of a second.
    await eventually(async () => (await touches()) > 4);
    expect((await reserve()).reservations).toEqual([]);
    expect(await settleIn(connection, [completed(reservation)])).toEqual(['settled']);
  });

  it('is kept alive beside the longer one of a job that was reserved earlier', async () => {
    await world.connect({}, { retryAfter: 30 }).push('default', [{ payload: probe('a') }]);
    await world.connect({}, { retryAfter: meantToPass(1) }).push('default', [{ payload: probe('b') }]);
    const { reservations } = await reserve();
    const touches = async (): Promise<number> => Number(/cmd-touch: (\d+)/.exec(await world.server.say('stats'))![1]);

    await eventually(async () => (await touches()) > 4);
    expect((await reserve()).reservations).toEqual([]);
    expect(await settleIn(connection, reservations.map(completed))).toEqual(['settled', 'settled']);
  });

  it('that is longer than the one the job was pushed with is kept alive again once it was renewed late', async () => {
    await world.connect({}, { retryAfter: 50 }).push('default', [{ payload: probe('a') }]);
    const reservation = await reserveOne();
    const touches = async (): Promise<number> => Number(/cmd-touch: (\d+)/.exec(await world.server.say('stats'))![1]);
    await world.advance(17);
    await eventually(async () => (await touches()) === 1);
    await world.advance(40);
    expect(await connection.renew([reservation], 60)).toEqual(['renewed']);

    await world.advance(17);
    await eventually(async () => (await touches()) === 3, { of: 'the touch after the renewal' });
    await world.advance(40);
    expect(await settleIn(connection, [completed(reservation)])).toEqual(['settled']);
  });

  it('is rounded up to whole seconds', async () => {
    await world.connect({}, { retryAfter: 59.2 }).push('default', [{ payload: probe('a') }]);
    await world.connect({}, { retryAfter: 60.5 }).push('default', [{ payload: probe('b'), delay: 1.2 }]);

    expect(await factsOf(1)).toContain('\nttr: 60\n');
    expect(await factsOf(2)).toMatch(/\ndelay: 2\nttr: 61\n/);
  });

  it('of another client has no known end: the next look comes after the length of the own lease', async () => {
    await push('a');
    await reserveOne(world.connect());

    expect((await reserve()).nextIn).toBe(60);
  });
});

describe('counters that do not fit into the priority', () => {
  it('travel in the body of a new job', async () => {
    await push('a');
    const reservation = await reserveOne();
    const counters = { ...reservation.counters, attempts: 40, exceptions: 40 };

    expect(await settleIn(connection, [released(reservation, { counters, delay: 30 })])).toEqual(['settled']);
    expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 1, reserved: 0 });
    await world.advance(31);

    const again = await reserveOne();
    expect(again.payload.toString()).toBe('{"id":"a","exceptions":40,"attempts":41}');
    expect(await settleIn(connection, [completed(reservation), completed(again)])).toEqual(['lost', 'settled']);
    expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
  });

  it('are seen by the reserve of the same call', async () => {
    await push('a');
    const reservation = await reserveOne();
    const settlements = [released(reservation, { counters: { ...reservation.counters, exceptions: 40 } })];
    const request = { queues: ['default'], limit: 1, lease: 60 };

    const { results, reply } = await connection.exchange(settlements, request);

    expect(results).toEqual(['settled']);
    expect(reply.reservations.map(({ counters }) => counters)).toEqual([
      { ...noCounters, attempts: 2, exceptions: 40 },
    ]);
  });

  it('are clipped if the server takes no new job', async () => {
    await push('a');
    const reservation = await reserveOne();
    world.server.process.kill('SIGUSR1');
    await eventually(async () => (await world.server.say('stats')).includes('draining: true'));
    const counters = { ...reservation.counters, exceptions: 40 };

    expect(await settleIn(connection, [released(reservation, { counters })])).toEqual(['settled']);
    expect((await reserveOne()).counters).toEqual({ ...noCounters, attempts: 2, exceptions: 31 });
  });
});

describe('jobs of other clients', () => {
  it('get an id from the server if they have none, the same in each run', async () => {
    await world.server.say('put 1024 0 60 2\r\n{}');
    const first = await reserveOne();
    await settleIn(connection, [released(first)]);
    const second = await reserveOne();

    expect(idOf(first)).toMatch(/^beanstalkd-[0-9a-f]+-1$/);
    expect(idOf(second)).toBe(idOf(first));
    expect(second.counters.attempts).toBe(2);
  });

  it('that are not JSON are handed out with their bytes, so that a worker can fail them', async () => {
    await world.server.say('put 1024 0 60 8\r\nnot json');
    const first = await reserveOne();
    await settleIn(connection, [released(first)]);
    const second = await reserveOne();

    expect(second.payload.toString()).toBe('not json');
    expect([first.counters.attempts, second.counters.attempts]).toEqual([1, 2]);
    expect(await settleIn(connection, [completed(second)])).toEqual(['settled']);
  });
});

describe('a failed job without a failed store', () => {
  const fail = async (): Promise<void> => {
    const reservation = await reserveOne();
    const failure = { id: String(idOf(reservation)), name: 'Probe', exception: 'Error' };
    const { counters } = reservation;
    expect(await settleIn(connection, [{ outcome: 'failed', reservation, counters, failure }])).toEqual(['settled']);
  };

  it('is buried: counted separately, not handed out, and kept by a clear', async () => {
    await push('a');
    await fail();

    expect(await connection.buried.count('default')).toBe(1);
    expect(await connection.queues.clear!('default')).toBe(0);
    expect((await reserve()).reservations).toEqual([]);
    expect(await connection.queues.names()).toEqual(['default']);
  });

  it('is kicked with all its tries and a growing fence, while delayed jobs are not kicked', async () => {
    await push('a', 'b');
    await fail();
    await fail();
    await connection.push('default', [{ payload: probe('delayed'), delay: 30 }]);

    expect(await connection.buried.kick()).toBe(2);
    const { reservations } = await reserve();
    expect(reservations.map(({ counters }) => counters)).toEqual([
      { ...noCounters, attempts: 1, releases: 1 },
      { ...noCounters, attempts: 1, releases: 1 },
    ]);
    expect(await connection.queues.counts('default')).toMatchObject({ delayed: 1 });
  });

  it('is gone after a flush of its queue', async () => {
    await push('a');
    await fail();

    expect(await connection.buried.flush('elsewhere')).toBe(0);
    expect(await connection.buried.flush('default')).toBe(1);
    expect(await connection.buried.kick()).toBe(0);
  });
});

describe('a prefix', () => {
  it('keeps the tubes of two applications on one server apart', async () => {
    const [ours, theirs] = [world.connect({ prefix: 'ours.' }), world.connect({ prefix: 'mine.' })];
    await ours.push('default', [{ payload: probe('a') }]);
    for (const queue of ['default', 'mail']) await theirs.push(queue, [{ payload: probe('b') }]);

    expect(await ours.queues.names()).toEqual(['default']);
    expect(await ours.queues.clear!('default')).toBe(1);
    expect(await theirs.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    expect(await theirs.queues.names()).toEqual(['default', 'mail']);
  });
});

describe('limits of the server', () => {
  it.each(['a:b', '-a', 'ä', 'x'.repeat(201)])('a queue named %s is refused with the rule for names', async (queue) => {
    await expect(connection.push(queue, [{ payload: probe('a') }])).rejects.toMatchObject({
      code: 'E_BEANSTALKD_TUBE_NAME',
      message: expect.stringContaining('letters, digits and - + / ; . $ _ ( )'),
    });
    await expect(reserve({ queues: ['default', queue] })).rejects.toMatchObject({ code: 'E_BEANSTALKD_TUBE_NAME' });
  });

  it('a payload that is too long is refused with the whole push, naming the limit and how to raise it', async () => {
    const pushed = connection.push('default', [{ payload: probe('a') }, { payload: 'x'.repeat(70_000) }]);

    await expect(pushed).rejects.toMatchObject({
      code: 'E_BEANSTALKD_JOB_TOO_BIG',
      message: expect.stringMatching(/takes up to 65535 bytes.*has 70000; 2 jobs were not queued.*-z 131072/),
    });
    expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
  });

  it('a draining server refuses jobs with the reason, and hands out those it has', async () => {
    await push('a');
    world.server.process.kill('SIGUSR1');

    await eventually(async () => (await world.server.say('stats')).includes('draining: true'));
    await expect(push('b')).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      message: expect.stringMatching(/refused \(DRAINING\); 1 job was not queued\. It was told to take no more jobs/),
    });
    expect(await ids()).toEqual(['a']);
  });

  it('clearing a queue keeps running jobs of other queues', async () => {
    await push('a');
    const reservation = await reserveOne();

    expect(await connection.queues.clear!('elsewhere')).toBe(0);
    expect(await settleIn(connection, [completed(reservation)])).toEqual(['settled']);
  });

  it('clearing a queue keeps jobs that another process runs', async () => {
    await push('theirs', 'waiting');
    const other = world.connect();
    const reservation = await reserveOne(other);

    expect(await connection.queues.clear!('default')).toBe(1);
    expect(await settleIn(other, [completed(reservation)])).toEqual(['settled']);
  });
});

it('a diagnosis reports a server without persistence, with a small job size, in draining mode, and with buried jobs', async () => {
  await push('a');
  const reservation = await reserveOne();
  const failure = { id: 'a', name: 'Probe', exception: 'Error' };
  await settleIn(connection, [{ outcome: 'failed', reservation, counters: reservation.counters, failure }]);
  world.server.process.kill('SIGUSR1');
  await eventually(async () => (await world.server.say('stats')).includes('draining: true'));

  expect(await world.connect({}, { maxPayload: 2 ** 20 }).diagnose()).toEqual([
    { level: 'ok', subject: 'version', message: 'beanstalkd 1.12' },
    {
      level: 'warning',
      subject: 'persistence',
      message: expect.stringContaining('Start it with -b'),
      endangersJobs: true,
    },
    { level: 'warning', subject: 'max-job-size', message: expect.stringContaining('-z 1048576') },
    { level: 'error', subject: 'draining', message: expect.any(String) },
    { level: 'warning', subject: 'buried jobs', message: expect.stringMatching(/^1: /) },
    { level: expect.any(String), subject: 'latency', message: expect.any(String) },
  ]);
});
