import type { Diagnosis } from '../../../src/connections/contract';
import { RedisWorld } from './open-redis';

describe('the diagnosis of a redis', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.start(['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru']);
  });

  afterAll(() => world.stop());

  const about = async (subject: string): Promise<Diagnosis | undefined> => {
    const connection = world.connect();
    const found = (await connection.diagnose()).find((diagnosis) => diagnosis.subject === subject);
    await connection.close();
    return found;
  };

  it('reports the version and the time of a round trip', async () => {
    expect(await about('version')).toEqual({
      level: 'ok',
      subject: 'version',
      message: expect.stringMatching(/^(Redis|Valkey) \d/),
    });
    expect((await about('latency'))?.message).toMatch(/^[\d.]+ ms for a round trip/);
  });

  it('reports an eviction policy that evicts jobs as an error, one that could as a warning, and noeviction as right', async () => {
    expect(await about('maxmemory-policy')).toMatchObject({
      level: 'error',
      message: expect.stringContaining('allkeys-lru'),
    });
    await world.client.config('SET', 'maxmemory', '0');
    expect(await about('maxmemory-policy')).toMatchObject({ level: 'warning' });
    await world.client.config('SET', 'maxmemory-policy', 'noeviction');
    expect(await about('maxmemory-policy')).toEqual({
      level: 'ok',
      subject: 'maxmemory-policy',
      message: 'noeviction',
    });
  });

  it('warns if nothing or only snapshots survive a crash', async () => {
    expect((await about('persistence'))?.message).toMatch(/^none/);
    await world.client.config('SET', 'save', '3600 1');
    expect((await about('persistence'))?.message).toMatch(/^snapshots only/);
    await world.client.config('SET', 'appendonly', 'yes');
    expect(await about('persistence')).toMatchObject({ level: 'ok' });
  });
});
