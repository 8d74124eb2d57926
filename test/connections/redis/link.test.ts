import type { Cluster } from 'ioredis';
import { clientSource } from '../../../src/connections/redis/client';
import { RedisLink } from '../../../src/connections/redis/link';
import { TestClock } from '../../../src/testing/test-clock';
import { eventually } from '../../support/eventually';
import { freePort, startRedisServer } from '../../support/redis-server';
import { meantToPass } from '../../support/meant-to-pass';
import { RedisWorld } from './open-redis';

const entry = (id: string) => ({ payload: `{"id":"${id}","attempts":0}` });

describe('a link to redis', () => {
  let world: RedisWorld;
  let link: RedisLink;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });

  beforeEach(() => {
    world.fresh();
    link = new RedisLink(clientSource({ driver: 'redis', url: world.url }));
  });

  afterEach(async () => {
    link.close();
    await world.closeConnections();
  });

  afterAll(() => world.stop());

  it.each([
    ['none', []],
    ['ASCII texts and numbers', ['key', '', 1, 0.5, -3]],
    ['bytes that are not a text', [Buffer.from([0, 255, 13, 10]), Buffer.alloc(0), 'after']],
    ['texts beyond ASCII', ['Grüße', Buffer.from('日本'), '日本', 7]],
    ['a lone surrogate', ['a\ud800b', Buffer.from('c')]],
  ])('passes arguments to the server unchanged: %s', async (_, args) => {
    const reply = link.send(['eval', ['return ARGV', 0, ...args]]).reply;
    expect(await reply).toEqual(args.map((arg) => (Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg)))));
  });

  it('makes calls whose reject function does not hold them, which would keep their texts until a full collection', async () => {
    const call = link.send(['ping', []]);
    expect(String(call.reject)).toBe('function () { [native code] }');
    expect(String(await call.reply)).toBe('PONG');
  });

  it('replaces a client once, even if later callers give up on it too', async () => {
    const first = link.send(['ping', []]);
    await first.reply;
    link.replace(first.client);
    const second = link.send(['ping', []]);
    link.replace(first.client);
    expect(String(await second.reply)).toBe('PONG');
    expect(link.send(['ping', []]).client).toBe(second.client);
  });

  it('rejects unanswered calls of a lost connection and connects again', async () => {
    const id = Number(await link.send(['client', ['id']]).reply);
    const unanswered = link.send(['blpop', [`${world.prefix}nothing`, 0]]);
    await world.client.client('KILL', 'ID', id);
    await expect(unanswered.reply).rejects.toThrow('the connection ended before an answer came');
    expect(unanswered.sent).toBe(true);
    expect(await link.send(['client', ['id']]).reply).not.toBe(id);
  });

  it('remembers that a replica refused to write until another server answers: calls lost with its connection have that reason', async () => {
    const refused = link.send(['eval', ["return redis.error_reply('READONLY a replica')", 0]]).reply;
    await expect(refused).rejects.toThrow('READONLY');
    expect(link.failure?.message).toContain('READONLY');

    await link.send(['ping', []]).reply;
    expect(link.failure).toBeUndefined();
  });

  it('keeps unsent calls until there is a connection', async () => {
    const port = await freePort();
    link = new RedisLink(clientSource({ driver: 'redis', url: `redis://127.0.0.1:${port}/0` }));
    const call = link.send(['ping', []]);
    await eventually(() => link.failure);
    const server = await startRedisServer({ port });
    expect(String(await call.reply)).toBe('PONG');
    await server.stop();
  });
});

describe('a link to a cluster', () => {
  it('ends the connection to a silent node once, however many calls on it are given up', async () => {
    const world = await RedisWorld.startCluster();
    const link = new RedisLink(clientSource({ driver: 'redis', cluster: [world.url] }));
    await link.send(['get', ['x']]).reply;
    // This answer shows that the cluster as a whole is not silent.
    const last = link.send(['get', ['x']]);
    const unanswered = Array.from({ length: 12 }, () => link.send(['blpop', ['nothing', 0]]));
    await last.reply;
    const { stream } = (last.client as Cluster).nodes()[0]!;
    const before = stream.listenerCount('close');

    for (const call of unanswered) link.giveUp(call);

    const after = stream.listenerCount('close');
    const ends = await Promise.allSettled(unanswered.map(({ reply }) => reply));
    link.close();
    await world.stop();
    expect(after - before).toBe(1);
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
  });
});

describe('pushes that wait for a server that is away', () => {
  it('each fail at their own deadline', async () => {
    const world = await RedisWorld.start();
    const clock = new TestClock();
    const connection = world.connect(
      { url: `redis://127.0.0.1:${await freePort()}/0` },
      { clock, deadline: meantToPass(5) },
    );
    const failed: string[] = [];
    const push = (id: string): void => void connection.push('q', [entry(id)]).catch(() => failed.push(id));
    // The first is sent at once. The next two travel in one call but have different ages.
    push('at 0 s');
    await clock.advance(1);
    push('at 1 s');
    await clock.advance(2);
    push('at 3 s');
    await clock.advance(3.5);
    expect(failed).toEqual(['at 0 s', 'at 1 s']);
    await clock.advance(2);
    expect(failed).toEqual(['at 0 s', 'at 1 s', 'at 3 s']);
    await world.stop();
  });
});
