/**
 * A thousand flows of ten jobs and one behind them: batches with `then`, beside the flows of BullMQ, in turns on one Redis. And how fast a
 * batch of 100,000 jobs is sent beside a bulk.
 *
 *   npm ci --prefix bench && node bench/flows.mjs
 *
 * Medians of the rounds behind the warm-up; one worker with concurrency 100.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { FlowProducer, Worker as BullWorker } from 'bullmq';
import { start } from './stores/redis.mjs';

const load = createRequire(fileURLToPath(new URL('../dist/index.js', import.meta.url)));
load('reflect-metadata');
const { Job, Queue, silentLogger, Worker } = load('./index.js');

const FLOWS = 1000;
const CHILDREN = 10;
const LARGE = 100_000;
const ROUNDS = 5;
/** Some seconds for each side: as many as it takes until the code is compiled and the rates grow no more. */
const WARM_UPS = 6;

let ended = 0;
let over = () => undefined;

class Child extends Job {
  constructor(number) {
    super();
    this.number = number;
  }
  async handle() {}
}
Job()(Child);

class Parent extends Child {
  async handle() {
    ended += 1;
    if (ended === FLOWS) over();
  }
}
Job()(Parent);

const server = await start();
const { host, port } = server.address;
Queue.configure({
  default: 'redis',
  logger: silentLogger,
  connections: { redis: { driver: 'redis', url: `redis://${host}:${port}` } },
});
const connection = { host, port, maxRetriesPerRequest: null };

const ours = {
  worker: () => {
    const worker = new Worker({ concurrency: 100 });
    const running = worker.run();
    return async () => {
      await worker.stop();
      await running;
    };
  },
  send: async () => {
    const flow = (number) =>
      Queue.batch(Array.from({ length: CHILDREN }, () => new Child(number)))
        .then(new Parent(number))
        .dispatch();
    await Promise.all(Array.from({ length: FLOWS }, (_, number) => flow(number)));
  },
};

const flows = new FlowProducer({ connection });
const opts = { removeOnComplete: true };
const bull = {
  worker: () => {
    const handle = async ({ name }) => {
      if (name !== 'Parent') return;
      ended += 1;
      if (ended === FLOWS) over();
    };
    const worker = new BullWorker('flows', handle, { connection, concurrency: 100 });
    return () => worker.close();
  },
  send: async () => {
    const child = (number) => ({ name: 'Child', queueName: 'flows', data: { number }, opts });
    await flows.addBulk(
      Array.from({ length: FLOWS }, (_, number) => ({
        name: 'Parent',
        queueName: 'flows',
        data: { number },
        opts,
        children: Array.from({ length: CHILDREN }, () => child(number)),
      })),
    );
  },
};

const rates = { ours: [], bull: [], batch: [], bulk: [] };
for (let round = -WARM_UPS; round < ROUNDS; round += 1) {
  const measured = {
    ours: await flowRate(ours),
    bull: await flowRate(bull),
    batch: await sendRate((jobs) => Queue.batch(jobs).onQueue('large').dispatch()),
    bulk: await sendRate((jobs) => Queue.bulk(jobs.map((job) => job.onQueue('large')))),
  };
  if (round >= 0) for (const [name, rate] of Object.entries(measured)) rates[name].push(rate);
}
const median = (name) => rates[name].toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)];
const perSecond = (name) => Math.round(median(name)).toLocaleString('en');
console.log(
  `flows:    ${perSecond('ours')} a second, BullMQ ${perSecond('bull')}: ${(median('ours') / median('bull')).toFixed(1)} ×`,
);
console.log(
  `dispatch: ${perSecond('batch')} jobs a second in a batch, ${perSecond('bulk')} in a bulk: ${(median('batch') / median('bulk')).toFixed(2)} ×`,
);

await Queue.close();
await flows.close();
await server.stop();

/** Flows a second, from the first dispatch to the end of the last. */
async function flowRate({ worker, send }) {
  ended = 0;
  const done = new Promise((resolve) => (over = resolve));
  const began = performance.now();
  const stop = worker();
  await send();
  await done;
  const rate = (FLOWS / (performance.now() - began)) * 1000;
  await stop();
  return rate;
}

async function sendRate(send) {
  const jobs = Array.from({ length: LARGE }, (_, number) => new Child(number));
  const began = performance.now();
  await send(jobs);
  const rate = (LARGE / (performance.now() - began)) * 1000;
  await Queue.clear('large');
  return rate;
}
