/**
 * What limits cost, by the account of Redis: a job of a lane at 1, 100 and 10,000 lanes beside a plain one, a job of a queue with a
 * limit, and how often eight processes that share a rate call the store for each job that asks.
 *
 *   node bench/limit-cost.mjs [folder of a build] [rounds]
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { start } from './stores/redis.mjs';

const folder = resolve(process.argv[2] ?? fileURLToPath(new URL('../dist', import.meta.url)));
const load = createRequire(`${folder}/index.js`);
if (process.argv[4] === 'ask') await ask(Number(process.argv[5]));
else await measure(Number(process.argv[3] ?? 5));

async function measure(rounds) {
  const Redis = load('ioredis').default;
  const { script } = load('./connections/redis/scripts.js');
  const { Keys } = load('./connections/redis/keys.js');
  const server = await start();
  const redis = new Redis({ ...server.address, replyMapping: 'legacy', protocol: 2 });
  const queue = new Keys('queues:', false).queue('default');
  const [exchange, push] = [script('exchange'), script('push')];

  for (const [size, jobs] of [
    [1, 10_000],
    [10, 30_000],
    [100, 60_000],
  ]) {
    console.log(`${size} at once, µs of script for each job:`);
    for (const lanes of [0, 1, 100, 10_000]) {
      const [pushed, worked] = await best(rounds, () => scriptTime(size, jobs, { lanes }));
      const kind = lanes === 0 ? 'plain' : `${lanes} lanes`;
      console.log(
        `  ${kind}: reserve and settle ${worked.toFixed(2)}${lanes === 0 ? '' : `, push ${pushed.toFixed(2)}`}`,
      );
    }
    const [, limited] = await best(rounds, () => scriptTime(size, jobs, { lanes: 0, limit: 1000 }));
    console.log(`  plain, in a queue with a limit: reserve and settle ${limited.toFixed(2)}`);
  }
  await redis.flushall();
  await rateCalls(server.address);
  redis.disconnect();
  await server.stop();

  async function scriptTime(size, jobs, { lanes, limit }) {
    await redis.flushall();
    for (const { source } of [exchange, push]) await redis.call('script', 'load', source);
    if (limit !== undefined) await redis.hset(queue.control, `running:${queue.ready}`, limit);
    await redis.config('RESETSTAT');
    for (let at = 0; at < jobs; at += 100) {
      const texts = Array.from({ length: Math.min(100, jobs - at) }, (_, n) => payload(at + n, lanes));
      const { client, ready, delayed, notify, unique, lanes: counts, held } = queue;
      const keys = [client('p'), ready, delayed, notify, unique, counts, held];
      if (lanes === 0) await redis.rpush(ready, ...texts);
      else
        await redis.evalsha(
          push.sha,
          keys.length,
          ...keys,
          0,
          at + 1,
          'any',
          texts.length,
          0,
          0,
          texts.length,
          ...texts,
        );
    }
    const pushed = (await microseconds()) / jobs;
    await redis.config('RESETSTAT');
    const { control, cancelled, reasons, unique, batches, cancelledBatches, lanes: counts, held: holding } = queue;
    const shared = [control, cancelled, reasons, unique, batches, cancelledBatches, counts, holding];
    const own = [queue.ready, queue.delayed, queue.reserved, queue.notify, queue.failed, queue.failedJobs];
    const keys = [queue.client('b'), ...shared, ...own];
    let [held, done] = [[], 0];
    for (let call = 1; ; call += 1) {
      const kind = lanes === 0 ? 'completed' : 'completed+lane';
      const args = lanes === 0 ? held : held.flatMap((text) => [text, /"ties":"l\d+\/([^"]+)"/.exec(text)[1]]);
      const outcomes = held.length === 0 ? [] : [kind, 1, held.length, ...args];
      const [, , , ...got] = await redis.evalsha(
        exchange.sha,
        keys.length,
        ...keys,
        0,
        call,
        'b',
        60,
        size,
        1,
        ...outcomes,
      );
      done += held.length;
      held = got.length === 0 ? [] : got[0].slice(1);
      if (held.length === 0) break;
    }
    if (done !== jobs) throw new Error(`${done} of ${jobs} jobs were handed out`);
    return [pushed, (await microseconds()) / jobs];
  }

  async function microseconds() {
    return Number(/cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
  }
}

function payload(number, lanes) {
  // Of a single lane as many may be in as are taken at once.
  const tie = lanes === 0 ? '' : `"ties":"l${lanes === 1 ? 100 : 3}/tenant-${number % lanes}",`;
  const id = `01930000-0000-7000-8000-${String(number).padStart(12, '0')}`;
  return (
    `{"displayName":"SendMail","job":"onqueue${lanes === 0 ? '' : '+'}","data":{"commandName":"SendMail","command":` +
    `{"to":"a@b.example","n":${number}}},${tie}"id":"${id}","attempts":0}`
  );
}

/** The least of each figure. */
async function best(rounds, measured) {
  const figures = [];
  for (let round = 0; round < rounds; round += 1) figures.push(await measured());
  return figures[0].map((_, place) => Math.min(...figures.map((some) => some[place])));
}

async function rateCalls({ port }) {
  const [file, args] = [fileURLToPath(import.meta.url), [folder, '0', 'ask', String(port)]];
  const replies = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
      let text = '';
      for await (const chunk of child.stdout) text += chunk;
      return JSON.parse(text);
    }),
  );
  const sum = (name) => replies.reduce((total, one) => total + one[name], 0);
  const [asks, calls] = [sum('asks'), sum('calls')];
  console.log(
    `a rate of 200 a second, 8 processes: ${asks} asks for ${sum('ran')} jobs, ${(calls / asks).toFixed(2)} calls of the store an ask`,
  );
}

/** One of the processes that share a rate, for ten seconds. */
async function ask(port) {
  load('reflect-metadata');
  const { Job, Queue, rateLimited, silentLogger, Worker } = load('./index.js');
  const { defaultManager } = load('./application/default-manager.js');
  Queue.configure({ connections: { store: { driver: 'redis', host: '127.0.0.1', port } }, logger: silentLogger });
  const counts = { asks: 0, calls: 0, ran: 0 };
  const counted = { handle: (_, next) => ((counts.asks += 1), next()) };
  const Limited = Job({ tries: 0 })(
    class Limited extends Job {
      middleware() {
        return [counted, rateLimited('psp', { allow: 200, every: '1s' })];
      }
      handle() {
        counts.ran += 1;
      }
    },
  );
  const store = defaultManager().driver('store');
  // Not `now`: it asks the store once a minute, and computes the time in between.
  const { records } = store;
  for (const name of ['get', 'replace']) {
    const original = records[name].bind(records);
    records[name] = (...given) => ((counts.calls += 1), original(...given));
  }
  await Queue.bulk(Array.from({ length: 400 }, () => new Limited()));
  const worker = new Worker({ concurrency: 20 });
  const running = worker.run();
  await new Promise((over) => setTimeout(over, 10_000));
  await worker.stop();
  await running;
  await Queue.close();
  console.log(JSON.stringify(counts));
}
