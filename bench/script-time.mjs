/**
 * What one call of `exchange` costs Redis, by the server's own account: microseconds for each call, and for each job.
 *
 *   node bench/script-time.mjs [folder of a build]
 *
 * Nothing but the script is measured: no client, no network. A queue of many jobs is worked off in calls that settle what
 * the call before reserved.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { start } from './stores/redis.mjs';

const folder = resolve(process.argv[2] ?? fileURLToPath(new URL('../dist', import.meta.url)));
const load = createRequire(`${folder}/index.js`);
const Redis = load('ioredis').default;
const { script } = load('./connections/redis/scripts.js');
const { Keys } = load('./connections/redis/keys.js');

const ROUNDS = 5;
const JOBS = { 1: 20_000, 10: 50_000, 100: 100_000 };

const payload = (id) =>
  `{"displayName":"SendMail","job":"onqueue","data":{"commandName":"SendMail","command":{"to":"a@b.example","n":${id}}},` +
  `"id":"01930000-0000-7000-8000-${String(id).padStart(12, '0')}","attempts":0}`;

const server = await start();
const redis = new Redis({ ...server.address, replyMapping: 'legacy', protocol: 2 });
const queue = new Keys('queues:', false).queue('default');
const exchange = script('exchange');
await redis.call('script', 'load', exchange.source);

for (const concurrency of [1, 10, 100]) {
  const figures = [];
  for (let round = 0; round < ROUNDS; round += 1) figures.push(await measured(concurrency));
  const best = Math.min(...figures);
  console.log(
    `${String(concurrency).padStart(3)} at once: ${best.toFixed(2)} µs for each call, ${(best / concurrency).toFixed(2)} µs for each job`,
  );
}
redis.disconnect();
await server.stop();

async function measured(concurrency) {
  await redis.flushall();
  const jobs = JOBS[concurrency];
  for (let at = 0; at < jobs; at += 1000) {
    await redis.rpush(queue.ready, ...Array.from({ length: Math.min(1000, jobs - at) }, (_, n) => payload(at + n)));
  }
  const {
    client,
    control,
    cancelled,
    reasons,
    unique,
    batches,
    cancelledBatches,
    lanes,
    ready,
    delayed,
    reserved,
    notify,
    failed,
    failedJobs,
  } = queue;
  const keys = [
    client('bench'),
    control,
    cancelled,
    reasons,
    unique,
    batches,
    cancelledBatches,
    lanes,
    queue.held,
    ready,
    delayed,
    reserved,
    notify,
    failed,
    failedJobs,
  ];
  await redis.config('RESETSTAT');
  let held = [];
  for (let sequence = 1; ; sequence += 1) {
    const outcomes = held.length === 0 ? [] : ['completed', 1, held.length, ...held];
    const reply = await redis.callBuffer('evalsha', [
      ...[exchange.sha, keys.length, ...keys],
      ...[0, sequence, 'bench', 30, concurrency, 1, ...outcomes],
    ]);
    const given = reply[3];
    if (given === undefined) break;
    held = given.slice(1);
  }
  const stats = await redis.info('commandstats');
  return Number(/cmdstat_evalsha:.*?usec_per_call=([\d.]+)/.exec(stats)[1]);
}
