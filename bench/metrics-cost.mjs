/**
 * What figures cost: the CPU of a worker and its Redis for each job with `metrics` and without, commands of a worker that is idle, and
 * bytes of a class in the store.
 *
 *   node bench/metrics-cost.mjs [folder of a build]
 *
 * One worker with concurrency 100 and jobs that do nothing; rounds with and without take turns. Medians.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { start } from './stores/redis.mjs';

const folder = resolve(process.argv[2] ?? fileURLToPath(new URL('../dist', import.meta.url)));
const load = createRequire(`${folder}/index.js`);
load('reflect-metadata');
const { Job, Queue, silentLogger, Worker } = load('./index.js');
const Redis = load('ioredis').default;

const JOBS = 20_000;
const ROUNDS = Number(process.env.ROUNDS ?? 9);
const IDLE = 30_000;

class Mail extends Job {
  async handle() {}
}
Job()(Mail);

const server = await start();
const redis = new Redis(server.address);

const rounds = { on: [], off: [] };
for (let round = -1; round < ROUNDS; round += 1) {
  for (const kind of round % 2 === 0 ? ['on', 'off'] : ['off', 'on']) {
    const measured = await ran(kind === 'on');
    if (round >= 0) rounds[kind].push(measured);
  }
}
const sorted = (kind, key) => rounds[kind].map((round) => round[key]).toSorted((a, b) => a - b);
for (const key of ['perSecond', 'worker', 'redis']) {
  const [on, off] = ['on', 'off'].map((kind) => sorted(kind, key));
  const middle = Math.floor(ROUNDS / 2);
  const ratios = rounds.on.map((round, place) => round[key] / rounds.off[place][key]).toSorted((a, b) => a - b);
  const spread = `${off[0].toFixed(1)} to ${off.at(-1).toFixed(1)} without`;
  const ratio = `ratio of pairs ${ratios[middle].toFixed(3)} (${ratios[0].toFixed(2)} to ${ratios.at(-1).toFixed(2)})`;
  console.log(`${key}: ${on[middle].toFixed(1)} with figures, ${off[middle].toFixed(1)} without; ${ratio}; ${spread}`);
}
for (const metrics of [true, false])
  console.log(`idle, metrics ${metrics}: ${(await idle(metrics)).toFixed(2)} commands a second`);
redis.disconnect();
await server.stop();

function configure(metrics) {
  Queue.configure({
    logger: silentLogger,
    metrics,
    connections: { redis: { driver: 'redis', url: `redis://${server.address.host}:${server.address.port}` } },
  });
}

async function ran(metrics) {
  await redis.flushall();
  configure(metrics);
  for (let from = 0; from < JOBS; from += 1000) await Queue.bulk(Array.from({ length: 1000 }, () => new Mail()));
  const [before, own, at] = [await serverTime(), process.cpuUsage(), performance.now()];
  await new Worker({ concurrency: 100, stopWhenEmpty: true }).run();
  const took = performance.now() - at;
  const { user, system } = process.cpuUsage(own);
  const redisTime = (await serverTime()) - before;
  await Queue.close();
  return { perSecond: (JOBS / took) * 1000, worker: (user + system) / JOBS, redis: redisTime / JOBS };
}

/** Commands that clients have sent; what scripts call is not among them. */
async function idle(metrics) {
  await redis.flushall();
  configure(metrics);
  await Queue.push(new Mail());
  const worker = new Worker({ concurrency: 10 });
  const running = worker.run();
  await new Promise((done) => setTimeout(done, 2000));
  const before = await calls();
  await new Promise((done) => setTimeout(done, IDLE));
  const count = (await calls()) - before;
  await worker.stop();
  await running;
  await Queue.close();
  return count / (IDLE / 1000);
}

async function calls() {
  const text = await redis.info('commandstats');
  const counted = [...text.matchAll(/cmdstat_(evalsha|eval|fcall|blpop|brpop|ping)[^:]*:calls=(\d+)/g)];
  return counted.reduce((sum, [, , count]) => sum + Number(count), 0);
}

/** Microseconds of CPU that Redis has taken so far. */
async function serverTime() {
  const text = await redis.info('cpu');
  const seconds = (name) => Number(new RegExp(`${name}:([\\d.]+)`).exec(text)[1]);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
}
