/**
 * What it costs to look at jobs: the rate of a worker, its CPU, its Redis' and that of the dispatch for each job, with figures and
 * without (`metrics`), with completed jobs remembered and not (`completed`), and with histories and without where every job fails
 * (`history`); with OpenTelemetry and its SDK, whose spans nobody takes, and without (`telemetry`), and with an SDK that no
 * observer tells of jobs, and without (`telemetry-off`); commands of a worker that is idle.
 *
 *   node bench/observation-cost.mjs [metrics | completed | history | telemetry | telemetry-off | idle]… [--build=folder]
 *
 * One worker with concurrency 100; rounds with and without take turns. Medians.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { start } from './stores/redis.mjs';

const { values, positionals } = parseArgs({ options: { build: { type: 'string' } }, allowPositionals: true });
const folder = resolve(values.build ?? fileURLToPath(new URL('../dist', import.meta.url)));
const load = createRequire(`${folder}/index.js`);
load('reflect-metadata');
const { Job, Queue, silentLogger, Worker } = load('./index.js');
const Redis = load('ioredis').default;
const { openTelemetry } = load('./otel');
const api = load('@opentelemetry/api');
const { BatchSpanProcessor, NodeTracerProvider } = load('@opentelemetry/sdk-trace-node');

/** Rounds of a second would measure the end of a worker, which writes what is left. */
const JOBS = Number(process.env.JOBS ?? 200_000);
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const IDLE = 30_000;

class Mail extends Job {
  async handle() {}
}
Job()(Mail);

class Lost extends Job {
  async handle() {
    throw new Error('the mail server is away');
  }
}
Job()(Lost);

const server = await start();
const redis = new Redis(server.address);

const SUBJECTS = {
  metrics: { job: Mail, on: {}, off: { metrics: false } },
  completed: { job: Mail, on: {}, off: { history: { completed: false } } },
  history: { job: Lost, on: {}, off: { history: false } },
  telemetry: { job: Mail, on: {}, off: {}, begin: () => (trace(), Queue.observe(openTelemetry())) },
  'telemetry-off': { job: Mail, on: {}, off: {}, begin: trace },
};

for (const subject of positionals.length === 0 ? [...Object.keys(SUBJECTS), 'idle'] : positionals) {
  if (subject !== 'idle') await compare(subject, SUBJECTS[subject]);
  else
    for (const metrics of [true, false])
      console.log(`idle, metrics ${metrics}: ${(await idle({ metrics })).toFixed(2)} commands a second`);
}
redis.disconnect();
await server.stop();

/** An SDK as in production, but for what takes the spans. */
function trace() {
  const exporter = { export: (_spans, done) => done({ code: 0 }), shutdown: async () => {} };
  new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] }).register();
}

async function compare(subject, { job, on: with_, off: without, begin }) {
  const rounds = { on: [], off: [] };
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const kind of round % 2 === 0 ? ['on', 'off'] : ['off', 'on']) {
      const measured = kind === 'on' ? await ran(job, with_, begin) : await ran(job, without);
      if (round >= 0) rounds[kind].push(measured);
    }
  }
  const sorted = (kind, key) => rounds[kind].map((round) => round[key]).toSorted((a, b) => a - b);
  for (const key of ['perSecond', 'worker', 'redis', 'dispatch']) {
    const [on, off] = ['on', 'off'].map((kind) => sorted(kind, key));
    const middle = Math.floor(ROUNDS / 2);
    const ratios = rounds.on.map((round, place) => round[key] / rounds.off[place][key]).toSorted((a, b) => a - b);
    const spread = `${off[0].toFixed(1)} to ${off.at(-1).toFixed(1)} without`;
    const ratio = `ratio of pairs ${ratios[middle].toFixed(3)} (${ratios[0].toFixed(2)} to ${ratios.at(-1).toFixed(2)})`;
    console.log(
      `${subject}, ${key}: ${on[middle].toFixed(1)} with, ${off[middle].toFixed(1)} without; ${ratio}; ${spread}`,
    );
  }
}

function configure(options) {
  Queue.configure({
    logger: silentLogger,
    connections: { redis: { driver: 'redis', url: `redis://${server.address.host}:${server.address.port}` } },
    ...options,
  });
}

async function ran(job, options, begin = () => {}) {
  await redis.flushall();
  configure(options);
  begin();
  const sending = process.cpuUsage();
  for (let from = 0; from < JOBS; from += 1000) await Queue.bulk(Array.from({ length: 1000 }, () => new job()));
  const sent = process.cpuUsage(sending);
  const [before, own, at] = [await serverTime(), process.cpuUsage(), performance.now()];
  await new Worker({ concurrency: 100, stopWhenEmpty: true }).run();
  const took = performance.now() - at;
  const { user, system } = process.cpuUsage(own);
  const redisTime = (await serverTime()) - before;
  await Queue.close();
  for (const part of [api.trace, api.context, api.propagation]) part.disable();
  return {
    perSecond: (JOBS / took) * 1000,
    worker: (user + system) / JOBS,
    redis: redisTime / JOBS,
    dispatch: (sent.user + sent.system) / JOBS,
  };
}

/** Commands that clients have sent; what scripts call is not among them. */
async function idle(options) {
  await redis.flushall();
  configure(options);
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
