/**
 * What a job costs Redis and its worker that stands in a chain of five, is unique, belongs to a batch of a thousand, or is handled
 * together with 99 others, beside a plain one.
 *
 *   node bench/workflow-cost.mjs [folder of a build]
 *
 * Queued in bulks and batches (chains: a hundred dispatches at once), and run by one worker with concurrency 100. Medians.
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
const ROUNDS = 5;
/** That do not count. */
const WARM_UPS = 2;
const LINKS = 5;

class Mail extends Job {
  constructor(number) {
    super();
    this.number = number;
  }
  async handle() {}
}
Job()(Mail);

/** Its name is as long as that of the plain job: it stands in each text twice. */
class Once extends Mail {}
Job({ unique: { by: (job) => job.number } })(Once);

class Many extends Job {
  constructor(number) {
    super();
    this.number = number;
  }
  static async handleAll() {}
}
Job({ together: { most: 100, wait: '100ms' } })(Many);

const server = await start();
Queue.configure({
  default: 'redis',
  logger: silentLogger,
  connections: { redis: { driver: 'redis', url: `redis://${server.address.host}:${server.address.port}` } },
});
const redis = new Redis(server.address);

const bulk = (Class, from) => Queue.bulk(Array.from({ length: 1000 }, (_, place) => new Class(from + place)));
const chain = (from) => Queue.chain(Array.from({ length: LINKS }, (_, place) => new Mail(from + place))).dispatch();

const KINDS = {
  plain: [1000, (from) => bulk(Mail, from)],
  chained: [500, (from) => Promise.all(Array.from({ length: 500 / LINKS }, (_, place) => chain(from + place * LINKS)))],
  batched: [1000, (from) => Queue.batch(Array.from({ length: 1000 }, (_, place) => new Mail(from + place))).dispatch()],
  unique: [1000, (from) => bulk(Once, from)],
  together: [1000, (from) => bulk(Many, from)],
};

for (const [kind, [step, dispatch]] of Object.entries(KINDS)) {
  const rounds = [];
  for (let round = -WARM_UPS; round < ROUNDS; round += 1) {
    const measured = await run(step, dispatch);
    if (round >= 0) rounds.push(measured);
  }
  const median = (key) => {
    const sorted = rounds.map((round) => round[key]).toSorted((a, b) => a - b);
    return sorted[Math.floor(ROUNDS / 2)].toFixed(1);
  };
  console.log(
    `${kind.padEnd(8)} Redis: ${median('dispatch')} µs to queue and ${median('work')} µs to run each job; worker: ${median('own')} µs`,
  );
}

await Queue.close();
redis.disconnect();
await server.stop();

async function run(step, dispatch) {
  const before = await serverTime();
  for (let from = 0; from < JOBS; from += step) await dispatch(from);
  const queued = await serverTime();
  const own = process.cpuUsage();
  await new Worker({ concurrency: 100, stopWhenEmpty: true }).run();
  const { user, system } = process.cpuUsage(own);
  const done = await serverTime();
  return { dispatch: (queued - before) / JOBS, work: (done - queued) / JOBS, own: (user + system) / JOBS };
}

/** Microseconds of CPU that Redis has taken so far. */
async function serverTime() {
  const text = await redis.info('cpu');
  const seconds = (name) => Number(new RegExp(`${name}:([\\d.]+)`).exec(text)[1]);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
}
