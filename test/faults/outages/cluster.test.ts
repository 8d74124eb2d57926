import type { Cluster, Redis } from 'ioredis';
import { clientSource } from '../../../src/connections/redis/client';
import { RedisLink } from '../../../src/connections/redis/link';
import { connectRedis, open, type RedisConnection, type ThreadData } from '../../../src/connections/redis/connection';
import { systemClock, type Clock } from '../../../src/base/clock';
import { TestClock } from '../../../src/testing/test-clock';
import { silent } from '../../connections/redis/open-redis';
import { eventually } from '../../support/eventually';
import { meantToPass } from '../../support/meant-to-pass';
import { RedisCluster } from '../../support/redis-cluster';
import type { RedisServer } from '../../support/redis-server';
import { NO_FAULTS, OutageApplication } from './application';
import { reserveFrom, settleIn, waitOn } from '../../support/exchange';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;

let cluster: RedisCluster;
let application: OutageApplication | undefined;
let connections: RedisConnection[];

beforeEach(() => {
  application = undefined;
  connections = [];
});

afterEach(async () => {
  await application?.close();
  await Promise.all(connections.map((connection) => connection.close()));
});

function connect(prefix: string, deadline = 60, clock: Clock = systemClock): RedisConnection {
  const config = { driver: 'redis', cluster: cluster.urls, prefix } as const;
  const connection = connectRedis(config, { name: 'redis', clock, logger: silent, deadline });
  connections.push(connection);
  return connection;
}

/** Names of queues on different masters. */
async function queuesApart(prefix: string): Promise<{ queues: string[]; masters: RedisServer[] }> {
  const byMaster = new Map<RedisServer, string>();
  for (let number = 0; byMaster.size < cluster.masters.length; number += 1) {
    const master = await cluster.masterOf(`${prefix}{q${number}}`);
    if (!byMaster.has(master)) byMaster.set(master, `q${number}`);
  }
  return { queues: [...byMaster.values()], masters: [...byMaster.keys()] };
}

describe('a cluster of three masters', () => {
  beforeAll(async () => {
    cluster = await RedisCluster.start();
  });

  afterAll(() => cluster.stop());

  it('hands out the jobs of all its slots, wakes workers waiting on any of them, and renews all leases at once', async () => {
    const { queues } = await queuesApart('slots:');
    // The clock stands still, so that the wait ends only by a wake-up.
    const connection = connect('slots:', 60, new TestClock());
    const woken = waitOn(connection, queues, 2);
    for (const queue of queues) await connection.push(queue, [{ payload: payload(queue) }]);
    await woken;

    const { reservations } = await reserveFrom(connection, { queues, limit: 9, lease: 1 });
    const renewed = await connection.renew(reservations, 600);

    expect(reservations.map(({ queue }) => queue)).toEqual(queues);
    expect(renewed).toEqual(['renewed', 'renewed', 'renewed']);
    const settled = await settleIn(
      connection,
      reservations.map((reservation) => ({ outcome: 'completed', reservation }) as const),
    );
    expect(settled).toEqual(['settled', 'settled', 'settled']);
  });

  it('is reached from another thread, which renews leases', async () => {
    const { queues } = await queuesApart('thread:');
    const connection = connect('thread:');
    for (const queue of queues) await connection.push(queue, [{ payload: payload(queue) }]);
    const { reservations } = await reserveFrom(connection, { queues, limit: 9, lease: 1 });

    const thread = open(structuredClone(connection.threadAccess!.data) as ThreadData, 2);

    expect(await thread.renew(reservations, 600)).toEqual(['renewed', 'renewed', 'renewed']);
    await thread.close();
  });

  it('does not keep a process alive with a connection to a node that is made while no call is pending', async () => {
    const held = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
    // Connections of earlier tests are still closing.
    await eventually(() => held() === 0);
    const link = new RedisLink(clientSource({ driver: 'redis', cluster: cluster.urls }));
    const call = link.send(['ping', []]);
    await call.reply;
    const idle = (call.client as Cluster).nodes().filter(({ status }) => status === 'wait');

    await Promise.all(idle.map((node: Redis) => node.connect()));

    expect(idle.length).toBeGreaterThan(0);
    await eventually(() => held() === 0);
    link.close();
  });

  it('refuses a dispatch whose slot is half moved with this reason and the remedy, and nothing is in doubt', async () => {
    const connection = connect('half:', meantToPass(2));
    const from = await cluster.masterOf('half:{q}');
    const to = cluster.masters.find((master) => master !== from)!;
    await connection.queues.counts('q');
    await cluster.beginMove('half:{q}', to);

    const failure = await connection.push('q', [{ payload: payload('a') }]).catch((error: unknown) => error);

    await cluster.moveSlot('half:{q}', to);
    expect(failure).toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      facts: { refused: true, uncertain: false },
      message: expect.stringMatching(
        /refused \(Too many Cluster redirections.*was not queued\. Look at the state of its cluster/,
      ) as string,
    });
    await eventually(() => connection.push('q', [{ payload: payload('b') }]).then(() => true));
    expect(await connection.queues.counts('q')).toMatchObject({ ready: 1 });
  });

  it('can move the slot of a queue to another master under load: no job is lost or runs twice', async () => {
    // On a busy machine the calls of the move take longer than the short deadline, after which the worker says that the store is away.
    application = new OutageApplication({ cluster: cluster.urls, prefix: 'moved:', deadline: '60s' });
    await application.works();
    application.startTraffic();
    await application.progress();
    const from = await cluster.masterOf('moved:{default}');

    await cluster.moveSlot(
      'moved:{default}',
      cluster.masters.find((master) => master !== from)!,
    );

    await application.progress();
    await application.settled();
    expect(await cluster.masterOf('moved:{default}')).not.toBe(from);
    expect(application.faults).toEqual(NO_FAULTS);
    expect(application.said).toEqual([]);
  });
});

describe('a cluster one of whose masters dies', () => {
  beforeEach(async () => {
    cluster = await RedisCluster.start();
  });

  afterEach(async () => {
    // Comes before the end of the cluster, to which the worker still reports its end.
    await application?.close();
    await cluster.stop();
  });

  it('continues when its replica is promoted: waiting and running jobs are kept, and dispatches wait meanwhile', async () => {
    application = new OutageApplication({ cluster: cluster.urls, deadline: '15s' });
    await application.works();
    await application.hold();
    await cluster.replicated();

    (await cluster.masterOf('queues:{default}')).process.kill('SIGKILL');
    application.startTraffic();
    application.letGo();

    await application.progress();
    await application.settled();
    expect(application.faults).toEqual(NO_FAULTS);
  });
});

describe('a cluster one of whose masters is silent', () => {
  beforeAll(async () => {
    // The silent master must not be given up during the test: without a replica the cluster would refuse calls for all slots.
    cluster = await RedisCluster.start({ args: ['--cluster-node-timeout', '60000'] });
  });

  afterAll(() => cluster.stop());

  it('still gives a worker the jobs of the other masters, whichever it asks first', async () => {
    const { queues, masters } = await queuesApart('apart:');
    const [first, second] = queues as [string, string];
    const connection = connect('apart:', 2);
    await connection.push(first, [{ payload: payload('a') }]);
    await connection.push(second, [{ payload: payload('b') }, { payload: payload('c') }]);
    await reserveFrom(connection, { queues: ['none'], limit: 1, lease: 60 });

    masters[0]!.process.kill('SIGSTOP');
    const given: string[] = [];
    // A worker asks again too, because its client is a new one by now and may have asked the silent master for the slots.
    await eventually(async () => {
      const { reservations } = await reserveFrom(connection, { queues, limit: 1, lease: 60 });
      given.push(...reservations.map(({ queue }) => queue));
      return given.length > 0;
    });
    masters[0]!.process.kill('SIGCONT');

    expect(given).toEqual([second]);
    // Jobs that came too late are given back without losing a try.
    await eventually(async () => {
      const [job] = await connection.queues.peek(first, 'ready', 1);
      return String(job?.payload).endsWith('"releases":1,"attempts":0}');
    });
    expect(await connection.queues.counts(first)).toEqual({ ready: 1, delayed: 0, reserved: 0 });
  });
});
