import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { RedisWorld } from '../connections/redis/open-redis';

/** The ACL rule from the documentation. */
const [, RULE] = /^ACL SETUSER worker (.*)$/m.exec(readFileSync(join(__dirname, '../../docs/redis.md'), 'utf8'))!;

let world: RedisWorld;

beforeAll(async () => {
  world = await RedisWorld.start();
});

afterAll(() => world.stop());

async function openLimited(): Promise<ConformanceHarness> {
  world.fresh();
  await world.client.acl('SETUSER', 'worker', 'reset', ...RULE!.replaceAll('queues:', world.prefix).split(' '));
  const connect = () =>
    world.connect({ url: undefined, port: world.server.port, username: 'worker', password: 'secret' });
  return {
    connection: connect(),
    second: connect,
    advance: (seconds) => void (world.offset += seconds),
    dispose: () => world.closeConnections(),
  };
}

describe('the redis driver, as a user with only the documented permissions', () => {
  it.each(conformance(openLimited))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
