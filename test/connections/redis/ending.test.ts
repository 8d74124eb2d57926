import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RedisWorld } from './open-redis';

const ROOT = join(__dirname, '../../..');

/** Runs a program as a user would write it, and waits until it ends by itself. */
async function outputOf(program: string, { url, server }: RedisWorld): Promise<string> {
  const source = `
    const { connectRedis } = require('./src/connections/redis/connection');
    const { systemClock: clock } = require('./src/base/clock');
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const connect = (url, deadline = 60) => connectRedis({ driver: 'redis', url }, { name: 'redis', clock, logger, deadline });
    const context = { name: 'redis', clock, logger, deadline: 60 };
    const connectCluster = (url) => connectRedis({ driver: 'redis', cluster: [url] }, context);
    const entry = { payload: '{"id":"a","attempts":0}' };
    (async () => { ${program} })();`;
  const register = join(ROOT, 'test/support/register-typescript.cjs');
  const options = {
    cwd: ROOT,
    timeout: 120_000,
    env: { ...process.env, REDIS_AT: url, REDIS_PID: String(server.process.pid) },
  };
  const { stdout } = await promisify(execFile)(process.execPath, ['--require', register, '--eval', source], options);
  return stdout.trim();
}

describe('a program with a redis connection', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });

  afterAll(() => world.stop());

  it('ends by itself after its dispatches without closing anything', async () => {
    const program = `await connect(process.env.REDIS_AT).push('q', [entry]); console.log('done');`;
    expect(await outputOf(program, world)).toBe('done');
  });

  it('ends by itself on a cluster too, whatever connections it opened', async () => {
    const cluster = await RedisWorld.startCluster();
    const program = `
      const connection = connectCluster(process.env.REDIS_AT);
      await Promise.all(['a', 'b', 'c'].map((queue) => connection.push(queue, [entry])));
      await connection.exchange([], { queues: ['a', 'b', 'c'], limit: 9, lease: 60 });
      console.log('done');`;
    expect(await outputOf(program, cluster)).toBe('done');
    await cluster.stop();
  });

  it('stays alive for an unanswered dispatch until its deadline', async () => {
    const program = `connect('redis://127.0.0.1:1', 0.3).push('q', [entry]).catch((error) => console.log(error.code));`;
    expect(await outputOf(program, world)).toBe('E_QUEUE_UNAVAILABLE');
  });

  it('ends after it has waited for work and closed its connection', async () => {
    const program = `
      const connection = connect(process.env.REDIS_AT);
      const stop = new AbortController();
      const wait = { queues: ['nothing'], limit: 0, lease: 60, within: 60, signal: stop.signal };
      const waited = connection.exchange([], wait);
      setImmediate(() => stop.abort());
      await waited;
      await connection.close();
      console.log('closed');`;
    expect(await outputOf(program, world)).toBe('closed');
  });

  it('does not stay alive for an unanswered question whether jobs were cancelled', async () => {
    const program = `
      const connection = connect(process.env.REDIS_AT);
      await connection.push('q', [entry]);
      const { reservations } = (await connection.exchange([], { queues: ['q'], limit: 1, lease: 60 })).reply;
      process.kill(Number(process.env.REDIS_PID), 'SIGSTOP');
      connection.control.cancelled(reservations).catch(() => undefined);
      console.log('asked');`;
    expect(await outputOf(program, world)).toBe('asked');
  });
});
