import { builtInConnectors } from '../../../src/connections/built-in';
import { QueueManager } from '../../../src/application/queue-manager';
import { silent } from '../../connections/redis/open-redis';
import { WatchedRedis } from '../../support/redis-sentinels';
import { meantToPass } from '../../support/meant-to-pass';
import { NO_FAULTS, OutageApplication } from './application';

let watched: WatchedRedis;
let application: OutageApplication | undefined;

const SECRETS = { password: 'of the servers', sentinelPassword: 'of the sentinels' };

beforeEach(() => {
  application = undefined;
});

const otherOne = (): QueueManager =>
  new QueueManager(
    { connectors: builtInConnectors, logger: silent },
    { connections: { main: { driver: 'redis', deadline: '15s', ...watched.config } } },
  );

describe('behind sentinels', () => {
  beforeEach(async () => {
    watched = await WatchedRedis.start(SECRETS);
  });

  afterEach(async () => {
    await application?.close();
    await watched.stop();
  });

  it('when a master dies, all continue with the one that the sentinels name, which has the limits and the delayed jobs, too', async () => {
    application = new OutageApplication({ ...watched.config, deadline: '15s' });
    const other = otherOne();
    const connection = other.connection();
    const limits = [{ queue: 'aside', running: 1 }];
    await connection.limit('aside', limits[0]);
    const ids = [
      await connection.later('1h', 'probe', {}, 'aside'),
      await connection.later('1h', 'probe', {}, 'aside'),
    ];
    await application.works();
    await application.hold();
    await watched.replicated();

    watched.master.process.kill('SIGKILL');
    application.startTraffic();
    application.letGo();

    await application.progress();
    await application.settled();
    expect(application.faults).toEqual(NO_FAULTS);
    expect(await connection.limits()).toEqual(limits);
    expect(await connection.reschedule(ids[0]!, '2h')).toBe('rescheduled');
    expect(await connection.promote(ids[1]!)).toBe('ready');
    expect(await connection.counts('aside')).toEqual({ ready: 1, delayed: 1, reserved: 0 });
    await other.close();
  });

  it('a master that freezes and comes back as a replica gets no writes, not even from unaware clients', async () => {
    application = new OutageApplication({ ...watched.config, deadline: meantToPass('5s') });
    const { port } = watched.replica;
    const idle = otherOne();
    await idle.connection().size();
    await application.works();
    await watched.replicated();

    watched.master.process.kill('SIGSTOP');
    application.startTraffic();
    await application.progress();
    watched.master.process.kill('SIGCONT');
    // The sentinels make it a replica after about ten seconds.
    await watched.call(watched.master.port, SECRETS.password, 'replicaof', '127.0.0.1', String(port));
    await idle.connection().push('probe', {}, 'elsewhere');

    await application.progress();
    await application.settled();
    expect(await idle.connection().size('elsewhere')).toBe(1);
    expect(application.faults).toEqual(NO_FAULTS);
    await idle.close();
  });
});

describe('sentinels', () => {
  beforeAll(async () => {
    watched = await WatchedRedis.start(SECRETS);
  });

  afterEach(() => application?.close());
  afterAll(() => watched.stop());

  it.each([
    ['that want another password', { sentinelPassword: 'wrong' }, /WRONGPASS/],
    ['that know no such master', { name: 'other' }, /No such master with that name/],
    [
      'that do not exist',
      { sentinels: [{ host: '127.0.0.1', port: 1 }] },
      /failed to connect to sentinel 127\.0\.0\.1:1 /,
    ],
  ])('%s are reported as the cause', async (_, wrong, reason) => {
    application = new OutageApplication({ ...watched.config, ...wrong, deadline: meantToPass('3s') });
    expect((await application.dispatch())?.message).toMatch(reason);
  });

  it('that are silent or dead do not keep clients from asking the remaining one', async () => {
    const [frozen, dead] = watched.sentinels;
    frozen!.process.kill('SIGSTOP');
    dead!.process.kill('SIGKILL');

    application = new OutageApplication({ ...watched.config, deadline: '60s' });

    await application.works();
    expect(application.said).toEqual([]);
  });
});
