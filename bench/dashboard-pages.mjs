/**
 * How long the dashboard takes to answer with each of its pages where a million jobs wait and a hundred thousand have failed, and what
 * looking costs the store while pages are kept up to date.
 *
 *   node bench/dashboard-pages.mjs [redis | sqlite]… [--waiting=1000000] [--failed=100000] [--build=folder]
 *
 * Each answer is made anew: of what several viewers share nothing is taken from the look before.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { start as startRedis } from './stores/redis.mjs';
import { start as startSqlite } from './stores/sqlite.mjs';

const { values, positionals } = parseArgs({
  options: {
    build: { type: 'string' },
    waiting: { type: 'string', default: '1000000' },
    failed: { type: 'string', default: '100000' },
  },
  allowPositionals: true,
});
const folder = resolve(values.build ?? fileURLToPath(new URL('../dist', import.meta.url)));
const load = createRequire(`${folder}/index.js`);
load('reflect-metadata');
const { Job, Queue, silentLogger, Worker } = load('./index.js');
const { dashboard } = load('./dashboard/index.js');
const { defaultManager } = load('./application/default-manager.js');

const WAITING = Number(values.waiting);
const FAILED = Number(values.failed);
const ROUNDS = 15;
const CLASSES = 20;
/** Milliseconds. */
const WATCHED = 20_000;
const EXCEPTION =
  'MailRefused: 452 4.2.2 Mailbox full\n' + '    at SendMail.handle (/srv/shop/jobs/send-mail.ts:31:13)\n'.repeat(8);

const STORES = {
  redis: async () => {
    const server = await startRedis();
    return { server, config: { driver: 'redis', ...server.address } };
  },
  sqlite: async () => {
    const server = await startSqlite();
    return { server, config: { driver: 'database', url: server.address.url } };
  },
};

for (const store of positionals.length === 0 ? Object.keys(STORES) : positionals) await measure(store);

async function measure(store) {
  const { server, config } = await STORES[store]();
  Queue.configure({ connections: { main: config }, logger: silentLogger });
  const manager = defaultManager();
  const ids = await fill(manager);
  await runSome(manager);
  const pages = [
    '',
    '?within=7d',
    'queue?queue=mail',
    'queue?queue=mail&state=delayed',
    'queue?queue=mail&state=failed',
    `job?id=${ids.waiting}`,
    `job?id=${ids.failed}`,
    'failed',
    'failed?queue=mail&error=Mailbox',
    'failed?error=nothing+says+this',
    `failed?from=${Math.max(0, FAILED - 2000)}`,
    'workers',
    'schedules',
    'batches',
    `search?text=${ids.failed}`,
    'search?text=nothing+says+this',
  ];
  console.log(`\n${store}: ${WAITING} jobs wait, ${FAILED} have failed`);
  for (const page of pages) {
    const [figures, used] = [[], []];
    let size = 0;
    for (let round = -2; round < ROUNDS; round += 1) {
      const { took, cpu, text } = await answer(manager, page);
      if (round >= 0) {
        figures.push(took);
        used.push(cpu);
      }
      size = gzipSync(text).length;
    }
    const [median, most] = [middleOf(figures), Math.max(...figures)];
    const shown = page.replace(/=[0-9a-f-]{36}/, '=<id>');
    console.log(
      `  ${shown.padEnd(36)} ${median.toFixed(1).padStart(6)} ms (CPU ${middleOf(used).toFixed(1)}), at most ${most.toFixed(1).padStart(6)} ms, ${(size / 1000).toFixed(1)} kB gzip`,
    );
  }
  await watch(manager, server, store);
  await Queue.close();
  await server.stop();
}

/** Some viewers keep pages open: what the store, and this process, spend on them. */
async function watch(manager, server, store) {
  for (const viewers of [0, 1, 20]) {
    const panel = dashboard({ authorize: () => 'operator', manager });
    const told = await server.watch();
    const before = process.cpuUsage();
    const headers = { accept: 'text/event-stream' };
    const readers = [];
    for (let viewer = 0; viewer < viewers; viewer += 1) {
      const page = ['', 'queue?queue=mail', 'failed', 'workers'][viewer % 4];
      const { body } = await panel.fetch(new Request(`http://127.0.0.1/jobs/${page}`, { headers }));
      readers.push(body.getReader());
    }
    const reading = readers.map(async (reader) => {
      while (!(await reader.read()).done);
    });
    await new Promise((done) => setTimeout(done, WATCHED));
    panel.close();
    await Promise.all(reading);
    const { user, system } = process.cpuUsage(before);
    const [own, itself] = [(user + system) / 1000, ((await told()).cpu ?? 0) / 1000].map(
      (cpu) => cpu / (WATCHED / 1000),
    );
    const spent = store === 'redis' ? `${itself.toFixed(1)} ms of the server and ` : '';
    console.log(`  ${viewers} viewers: ${spent}${own.toFixed(1)} ms of this process a second`);
  }
}

async function answer(manager, page) {
  const panel = dashboard({ authorize: () => 'operator', manager });
  const [started, before] = [performance.now(), process.cpuUsage()];
  const response = await panel.fetch(
    new Request(`http://127.0.0.1/jobs/${page}`, { headers: { accept: 'text/html' } }),
  );
  const text = await response.text();
  const took = performance.now() - started;
  const { user, system } = process.cpuUsage(before);
  if (response.status >= 400) throw new Error(`${page}: ${response.status} ${text.slice(0, 500)}`);
  panel.close();
  return { took, cpu: (user + system) / 1000, text };
}

function middleOf(figures) {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];
}

async function fill(manager) {
  const driver = manager.driver();
  const payload = (id, n) =>
    `{"displayName":"SendMail","job":"onqueue","data":{"commandName":"SendMail","command":{"to":"a@b.example","n":${n}}},"id":"${id}","attempts":0}`;
  const idOf = (n) => `01930000-0000-7000-8000-${String(n).padStart(12, '0')}`;
  const push = async (from, count) => {
    for (let at = 0; at < count; at += 500) {
      const page = Array.from({ length: Math.min(500, count - at) }, (_, n) => ({
        payload: payload(idOf(from + at + n), n),
      }));
      await driver.push('mail', page);
    }
  };
  const lanes = async (work) => void (await Promise.all(Array.from({ length: 4 }, (_, lane) => work(lane))));
  await lanes((lane) => push(lane * FAILED, FAILED / 4));
  await lanes(async () => {
    for (;;) {
      const { reservations } = (await driver.exchange([], { queues: ['mail'], limit: 100, lease: 600 })).reply;
      if (reservations.length === 0) return;
      await driver.exchange(
        reservations.map((reservation) => ({
          outcome: 'failed',
          reservation,
          counters: { ...reservation.counters, exceptions: 1 },
          failure: { id: JSON.parse(reservation.payload.toString()).id, name: 'SendMail', exception: EXCEPTION },
        })),
      );
    }
  });
  await lanes((lane) => push(10_000_000 + lane * WAITING, WAITING / 4));
  return { failed: idOf(17), waiting: idOf(10_000_000 + 20) };
}

/** So that there are figures of many classes, and a worker. */
async function runSome(manager) {
  const classes = Array.from({ length: CLASSES }, (_, place) => {
    const made = {
      [`Job${place}`]: class extends Job {
        async handle() {}
      },
    }[`Job${place}`];
    Job({ queue: `queue-${place % 10}` })(made);
    return made;
  });
  for (const made of classes) await Queue.bulk(Array.from({ length: 50 }, () => new made()));
  const worker = new Worker(
    {
      queue: classes
        .map((_, place) => `queue-${place % 10}`)
        .slice(0, 10)
        .join(','),
      stopWhenEmpty: true,
      concurrency: 20,
    },
    manager,
  );
  await worker.run();
}
