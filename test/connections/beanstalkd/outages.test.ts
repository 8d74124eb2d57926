import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endOfTurn } from '../../../src/base/clock';
import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors } from '../../../src/connections/built-in';
import type { BeanstalkdConnection } from '../../../src/connections/beanstalkd/connection';
import { BeanstalkdCaller } from '../../../src/connections/beanstalkd/caller';
import { putCommand } from '../../../src/connections/beanstalkd/link';
import { Job } from '../../../src/job/job';
import type { Reservation, Settlement } from '../../../src/connections/contract';
import { QueueManager } from '../../../src/application/queue-manager';
import { Worker } from '../../../src/worker/worker';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { RecordingLogger } from '../../support/application';
import { startBeanstalkd, type BeanstalkdServer } from '../../support/beanstalkd-server';
import { eventually } from '../../support/eventually';
import { MovedClock } from '../../support/moved-clock';
import { BeanstalkdWorld } from './open-beanstalkd';
import { reserveFrom, settleIn, waitOn } from '../../support/exchange';

/** It passes by the clock of the test while the server says nothing. */
const DEADLINE = 60;

const probe = (id: string) => ({ payload: `{"id":"${id}","attempts":0}` });
const completed = (reservation: Reservation): Settlement => ({ outcome: 'completed', reservation });
const released = (reservation: Reservation): Settlement => ({
  outcome: 'released',
  reservation,
  delay: 60,
  counters: reservation.counters,
});
const reserve = (connection: BeanstalkdConnection) =>
  reserveFrom(connection, { queues: ['default'], limit: 1, lease: 60 });
const reserveOne = async (connection: BeanstalkdConnection): Promise<Reservation> =>
  (await reserve(connection)).reservations[0]!;

describe('an answer that is lost with its connection', () => {
  let world: BeanstalkdWorld;
  let proxy: FaultyProxy;
  let connection: BeanstalkdConnection;

  afterEach(async () => {
    await world.stop();
    await proxy.stop();
  });

  const openBehindProxy = async (call: string): Promise<void> => {
    world = await BeanstalkdWorld.start({ movable: false });
    proxy = await FaultyProxy.start(world.server.port, call);
    connection = world.connect(
      { url: `beanstalk://127.0.0.1:${proxy.port}` },
      { deadline: DEADLINE, retryAfter: 3600 },
    );
  };

  it('leaves a push uncertain even if we closed the connection ourselves', async () => {
    await openBehindProxy('put ');
    const { clock } = world;
    const settings = { name: 'beanstalkd', address: 'of a test', clock, deadline: DEADLINE };
    const caller = new BeanstalkdCaller(settings, { host: '127.0.0.1', port: proxy.port }, () => undefined);
    await caller.facts('nothing was read');
    proxy.goHalfOpen();
    const pushing = caller.call(() => [putCommand({ body: Buffer.from('{}'), priority: 0, delay: 0, lease: 60 })], {
      consequence: 'the job was not queued',
    });
    // The command is sent at the end of this turn.
    await endOfTurn();
    caller.close();
    await expect(pushing).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { uncertain: true } });
  });

  it.each([
    ['deleted', 'delete ', completed, { ready: 0, delayed: 0, reserved: 0 }],
    ['released', 'release ', released, { ready: 0, delayed: 1, reserved: 0 }],
  ])('is recovered for a job that was %s, which is settled once', async (_what, call, settle, counts) => {
    await openBehindProxy(call);
    await connection.push('default', [probe('a')]);
    const reservation = await reserveOne(connection);
    proxy.loseReplies();

    expect(await settleIn(connection, [settle(reservation)])).toEqual(['settled']);
    expect(await connection.queues.counts('default')).toEqual(counts);
    expect(await settleIn(connection, [settle(reservation)])).toEqual(['lost']);
  });

  it('makes a push fail as uncertain, and the job is not pushed again', async () => {
    await openBehindProxy('put ');
    await connection.push('default', [probe('a')]);
    proxy.loseReplies();

    await expect(connection.push('default', [probe('b')])).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      facts: { uncertain: true },
    });
    expect(await connection.queues.counts('default')).toEqual({ ready: 2, delayed: 0, reserved: 0 });
  });

  it('makes a read be repeated', async () => {
    await openBehindProxy('stats-tube');
    await connection.push('default', [probe('a')]);
    proxy.loseReplies();

    expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
  });

  it('together with the outcome itself makes the job lost, and it counts as crashed', async () => {
    await openBehindProxy('delete ');
    await connection.push('default', [probe('a')]);
    const reservation = await reserveOne(connection);
    proxy.cut();
    await eventually(async () => (await connection.queues.counts('default')).ready === 1);

    expect(await settleIn(connection, [completed(reservation)])).toEqual(['lost']);
    expect(await connection.renew([reservation], 60)).toEqual(['lost']);
    expect((await reserveOne(connection)).counters).toMatchObject({ attempts: 1, crashes: 1 });
  });

  it('that arrives late gives the reserved job back without costing a try', async () => {
    await openBehindProxy('stats-job');
    await connection.push('default', [probe('a')]);
    const goOn = proxy.holdReplies();
    const reserving = reserve(connection);
    await eventually(async () => (await world.server.say('stats')).includes('current-jobs-reserved: 1\n'));
    await expect(world.clock.passing(reserving)).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
    goOn();

    await eventually(async () => (await connection.queues.counts('default')).ready === 1);
    expect((await reserveOne(connection)).counters).toMatchObject({ attempts: 1, crashes: 0, releases: 1 });
  });

  it('that arrives late gives back the jobs of earlier queues without costing a try', async () => {
    await openBehindProxy('watch second');
    await connection.push('first', [probe('a')]);
    await connection.push('second', [probe('b')]);
    const goOn = proxy.holdReplies();
    const request = { queues: ['first', 'second'], limit: 2, lease: 60 };
    const reserving = reserveFrom(connection, request);
    await eventually(async () => (await world.server.say('stats')).includes('current-jobs-reserved: 2\n'));
    await expect(world.clock.passing(reserving)).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
    goOn();

    await eventually(async () => (await connection.queues.counts('first')).ready === 1);
    const [job] = (await reserveFrom(connection, request)).reservations;
    expect(job!.counters).toMatchObject({ attempts: 1, crashes: 0, releases: 1 });
  });

  it('on a half-open connection is awaited until the deadline, and then a new connection is used', async () => {
    await openBehindProxy('put ');
    await connection.push('default', [probe('a')]);
    proxy.goHalfOpen();

    await expect(world.clock.passing(connection.push('default', [probe('b')]))).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      message: expect.stringMatching(
        /^beanstalkd at beanstalk:\/\/127.0.0.1:\d+ did not answer in 60 s; 1 job was not queued, unless only its answer/,
      ),
    });
    await connection.push('default', [probe('c')]);
    expect((await reserveOne(connection)).payload.toString()).toContain('"a"');
  });

  it('to one outcome of a call keeps the others, whose results the next call returns', async () => {
    await openBehindProxy('delete ');
    const pusher = world.connect({}, { retryAfter: 300 });
    await pusher.push('default', [probe('a'), probe('b')]);
    const first = await reserveOne(connection);
    proxy.goHalfOpen();
    await expect(world.clock.passing(reserve(connection))).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
    const second = await reserveOne(connection);
    const settle = () => settleIn(connection, [completed(first), completed(second)]);
    const settling = settle();
    await eventually(async () => (await world.server.say('stats')).includes('cmd-delete: 1\n'));
    const uncertain = { code: 'E_QUEUE_UNAVAILABLE', facts: { uncertain: true } };
    await expect(world.clock.passing(settling)).rejects.toMatchObject(uncertain);

    const results = await eventually(() => world.clock.passing(settle()).catch(() => undefined));
    expect(results).toEqual(['lost', 'settled']);
  });

  it('does not block a waiting worker: a new connection brings the job', async () => {
    await openBehindProxy('reserve');
    const first = waitOn(connection, ['default'], 2, new AbortController().signal);
    await eventually(async () => (await world.server.say('stats')).includes('current-waiting: 1'));
    proxy.goHalfOpen();
    await world.connect().push('default', [probe('a')]);
    await world.clock.passing(first);

    const reservation = await eventually(async () => {
      await world.clock.passing(waitOn(connection, ['default'], 0.1));
      return (await world.clock.passing(reserve(connection)).catch(() => undefined))?.reservations[0];
    });
    expect(reservation).toBeDefined();
  });
});

describe('a server that freezes for longer than the deadline', () => {
  let world: BeanstalkdWorld;
  let connection: BeanstalkdConnection;

  beforeEach(async () => {
    world = await BeanstalkdWorld.start({ movable: false });
    connection = world.connect({}, { deadline: DEADLINE, retryAfter: 3600 });
    await connection.push('default', [probe('a'), probe('b')]);
  });

  afterEach(() => world.stop());

  it('loses no job: outcomes sent meanwhile are settled when it goes on', async () => {
    const held = await reserveOne(connection);
    world.server.process.kill('SIGSTOP');
    const away = { code: 'E_QUEUE_UNAVAILABLE' };
    await expect(world.clock.passing(connection.renew([held], 60))).rejects.toMatchObject(away);
    await expect(world.clock.passing(settleIn(connection, [completed(held)]))).rejects.toMatchObject({
      ...away,
      facts: { uncertain: true },
    });
    await expect(world.clock.passing(reserve(connection))).rejects.toMatchObject(away);

    world.server.process.kill('SIGCONT');

    expect(await settleIn(connection, [completed(held)])).toEqual(['settled']);
    expect((await eventually(() => reserveOne(connection))).counters).toMatchObject({ attempts: 1, crashes: 0 });
    expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 1 });
  });

  it('may hand out a job to a call that was given up, which goes back without costing a try', async () => {
    await reserveOne(connection);
    world.server.process.kill('SIGSTOP');
    await expect(world.clock.passing(reserve(connection))).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });

    world.server.process.kill('SIGCONT');

    const late = await eventually(() => reserveOne(world.connect()));
    expect(late.counters).toMatchObject({ attempts: 1, crashes: 0, releases: 1 });
  });

  it('gets each settle once: a repeated settle waits for the answer to the first', async () => {
    const held = await reserveOne(connection);
    world.server.process.kill('SIGSTOP');
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await world.clock.passing(settleIn(connection, [completed(held)])).catch(() => undefined);
    }

    world.server.process.kill('SIGCONT');

    expect(await settleIn(connection, [completed(held)])).toEqual(['settled']);
    expect(await world.server.say('stats')).toContain('cmd-delete: 1\n');
  });

  it('makes jobs lost once their leases must have ended', async () => {
    const short = world.connect({}, { deadline: DEADLINE, retryAfter: 60 });
    await connection.queues.clear!('default');
    await short.push('default', [probe('a')]);
    const held = await reserveOne(short);
    world.server.process.kill('SIGSTOP');

    const renewed = await eventually(() => world.clock.passing(short.renew([held], 60)).catch(() => undefined));
    world.server.process.kill('SIGCONT');

    expect(renewed).toEqual(['lost']);
  });
});

it.each([
  ['no server listens', (port: number) => `beanstalk://127.0.0.1:${port}`, /did not answer in 60 s \(.*ECONNREFUSED/],
  [
    'the host is unknown',
    () => 'beanstalk://nowhere.invalid',
    /cannot be reached \(.*ENOTFOUND.*Check the name of its host\./,
  ],
])('if %s, a push fails within the deadline and says why', async (_what, urlOf, reason) => {
  const world = await BeanstalkdWorld.start({ movable: false });
  const connection = world.connect({ url: urlOf(world.server.port) }, { deadline: DEADLINE });
  await world.server.stop();

  await expect(world.clock.passing(connection.push('default', [probe('a')]))).rejects.toMatchObject({
    code: 'E_QUEUE_UNAVAILABLE',
    message: expect.stringMatching(reason),
    facts: { uncertain: false },
  });
  await world.stop();
});

const ran: number[] = [];

@Job({ timeout: 0 })
class Step extends Job {
  constructor(readonly index: number) {
    super();
  }

  handle(): void {
    ran.push(this.index);
  }
}

describe('a worker whose server is killed and started again', () => {
  let folder: string;
  let server: BeanstalkdServer;
  let clock: MovedClock;
  let manager: QueueManager;
  let bus: JobBus;
  let log: RecordingLogger;
  let next = 0;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'onqueue-binlog-'));
    server = await startBeanstalkd({ binlog: folder, args: ['-f', '0'] });
    log = new RecordingLogger();
    const store = { driver: 'beanstalkd', url: server.url, deadline: '60s', retryAfter: '60s' } as const;
    clock = new MovedClock();
    manager = new QueueManager({ connectors: builtInConnectors, logger: log, clock }, { connections: { store } });
    bus = new JobBus(() => manager);
    ran.length = 0;
    void new Worker({ concurrency: 5, grace: '60s' }, manager).run();
  });

  afterEach(async () => {
    await manager.close();
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const restart = async (binlog: string | undefined): Promise<void> => {
    const { port } = server;
    await server.stop();
    server = await startBeanstalkd({ port, binlog, args: ['-f', '0'] });
  };

  /** Dispatches a job and waits until it has run. */
  const works = async (): Promise<void> => {
    const index = (next += 1);
    await eventually(() => bus.dispatch(new Step(index)), { of: 'a dispatch' });
    await eventually(() => ran.includes(index), { of: 'its run' });
  };

  it('continues by itself and loses no job that the server has kept', async () => {
    const accepted: number[] = [];
    let over = false;
    const dispatching = (async () => {
      while (!over) {
        const index = (next += 1);
        await bus.dispatch(new Step(index)).then(
          () => accepted.push(index),
          () => undefined,
        );
      }
    })();
    for (let kill = 0; kill < 2; kill += 1) {
      const goal = ran.length + 100;
      await eventually(() => ran.length > goal);
      await restart(folder);
    }
    await works();
    over = true;
    await dispatching;

    await eventually(() => accepted.every((index) => ran.includes(index)), { of: 'the run of all that was accepted' });
  });

  it('logs the outage once and its end once', async () => {
    await works();
    const { port } = server;
    await server.stop();
    await eventually(
      () => {
        clock.advance(1);
        return log.messages('error').length > 0;
      },
      { of: 'a word of the worker' },
    );
    server = await startBeanstalkd({ port, binlog: folder });
    await works();

    const said = log.lines
      .filter(({ facts }) => 'address' in facts)
      .map(({ level, message }) => `${level}: ${message}`);
    expect(said).toEqual([
      expect.stringMatching(/^error: beanstalkd at beanstalk:\/\/127.0.0.1:\d+ (did not answer|cannot be reached)/),
      `info: beanstalk://127.0.0.1:${port} answers again.`,
    ]);
  });

  it('logs that jobs are gone if the server has kept none', async () => {
    await works();
    await restart(undefined);
    await works();

    expect(log.messages('error').join('\n')).toContain('has lost data that it had confirmed');
  });
});
