/** A worker empties a queue with damaged and hostile payloads among good ones. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Redis from 'ioredis';
import { openSqlite } from '../../../src/connections/sql/sqlite/engine';
import { builtInConnectors, Job, QueueManager, Worker, type ConnectionConfig } from '../../../src/index';
import { readCounters } from '../../../src/payload/counters';
import type { FailedEntry } from '../../../src/connections/failed-store';
import { RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { FUZZED_JOB, fuzzedPayloads, goodPayload, MARKER } from '../../support/fuzzed-payloads';
import { startRedisServer } from '../../support/redis-server';
import type { StoreName } from '../kit/stage';
import type { Finding, Soak } from './soak';

interface Size {
  readonly payloads: number;
}

const SEED = 20_261_121;
const ALL = 1_000_000;
/** The number of payloads pushed with one call. */
const PAGE = 1000;
/** The most bytes that a worker adds to a payload: an id and counters. */
const MOST_ADDED = 200;

let runs: unknown[] = [];

@Job({ name: FUZZED_JOB })
class Fuzzed extends Job {
  declare readonly key: unknown;
  handle(): void {
    runs.push(this.key);
  }
}

export const fuzzedPayloadsAmongGoodOnes: Soak<Size> = {
  name: 'fuzzed',
  title: 'damaged and hostile payloads among as many good ones',
  figure: 'all good ones run, and each bad one is set aside with a reason',
  stores: ['redis', 'sqlite'],
  sizes: { test: { payloads: 300 }, soak: { payloads: 10_000 }, full: { payloads: 100_000 } },

  async play(store, { payloads }) {
    const place = (await places[store]?.())!;
    const log = new RecordingLogger();
    const manager = new QueueManager(
      { connectors: builtInConnectors, logger: log },
      { connections: { store: place.config }, jobs: [Fuzzed], failed: { connection: 'store', keep: Infinity } },
    );
    try {
      const driver = manager.driver();
      // Makes the tables of SQLite.
      await driver.queues.counts('default');
      const ours: unknown[] = (runs = []);
      const bad = fuzzedPayloads(SEED, payloads).map(({ bytes }) => bytes);
      // The last one is good, so when it has run all were processed.
      const all = [...bad.flatMap((bytes, number) => [goodPayload(number), bytes]), goodPayload(payloads)];
      for (let at = 0; at < all.length; at += PAGE) await place.push(all.slice(at, at + PAGE));

      const worker = new Worker({ concurrency: 10 }, manager);
      const ended = worker.run();
      await eventually(
        async () => {
          const { ready, reserved } = await driver.queues.counts('default');
          return ready + reserved === 0 && ours.includes(`good-${payloads}`);
        },
        { deadline: 150_000 + payloads * 10, of: 'the end of what is ready' },
      );
      await worker.stop();
      await ended;

      const failed = await driver.failed!.list({ limit: ALL });
      return found({ bad, failed, waiting: await manager.connection().size(), runs: ours, log });
    } finally {
      await manager.close();
      await place.leave();
    }
  },
};

interface Traces {
  readonly bad: readonly Buffer[];
  readonly failed: readonly FailedEntry[];
  readonly waiting: number;
  readonly runs: readonly unknown[];
  readonly log: RecordingLogger;
}

function found({ bad, failed, waiting, runs, log }: Traces): Finding {
  const good = new Map(Array.from({ length: bad.length + 1 }, (_, number) => [`good-${number}` as unknown, 0]));
  for (const key of runs) if (good.has(key)) good.set(key, good.get(key)! + 1);
  const goodOnce = [...good.values()].filter((times) => times === 1).length;
  const runAnyhow = runs.filter((key) => !good.has(key)).length;
  const told = [...log.lines.map((line) => JSON.stringify(line)), ...failed.map(({ exception }) => exception)];
  const offences = [
    ...[...good].filter(([, times]) => times !== 1).map(([key, times]) => `${String(key)} ran ${times} times`),
    ...notKept(bad, failed),
    ...failed.filter(({ exception }) => exception.trim() === '').map(({ id }) => `${id} failed without a reason`),
    ...told.filter((text) => text.includes(MARKER)).map((text) => `data are told: ${text}`),
  ];
  const accounted = failed.length + runAnyhow + waiting;
  if (accounted !== bad.length) offences.push(`of ${bad.length} damaged payloads ${accounted} are accounted for`);
  return {
    reached:
      `${goodOnce} of ${good.size} good ones ran once; of ${bad.length} damaged ones ${failed.length} failed with a ` +
      `reason, ${runAnyhow} were jobs all the same, ${waiting} wait for a worker that knows them`,
    offences: offences.slice(0, 20),
  };
}

/** Each failed payload must be one of the damaged ones, or begin with the part of one before its counters. */
function notKept(bad: readonly Buffer[], failed: readonly FailedEntry[]): readonly string[] {
  const bodies = new Set(
    bad.flatMap((bytes) => [bytes.toString('latin1'), bytes.toString('latin1', 0, bodyEnd(bytes))]),
  );
  return failed
    .filter(({ payload }) => {
      const text = payload.toString('latin1');
      for (let end = text.length; end >= Math.max(text.length - MOST_ADDED, 0); end -= 1) {
        if (bodies.has(text.slice(0, end))) return false;
      }
      return true;
    })
    .map(({ id }) => `of ${id} not every byte was kept`);
}

function bodyEnd(bytes: Buffer): number {
  const closing = bytes.lastIndexOf('}');
  return readCounters(bytes)?.bodyEnd ?? (closing === -1 ? bytes.length : closing);
}

/** A store and a way for another program to write any bytes to it. */
interface Place {
  readonly config: ConnectionConfig;
  push(payloads: readonly Buffer[]): Promise<unknown>;
  leave(): Promise<void>;
}

const places: { readonly [Name in StoreName]?: () => Promise<Place> } = {
  async redis() {
    const server = await startRedisServer();
    const client = new Redis(server.url);
    return {
      config: { driver: 'redis', url: server.url },
      push: (payloads) => client.rpush('queues:default', ...payloads),
      async leave() {
        client.disconnect();
        await server.stop();
      },
    };
  },

  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), 'onqueue-fuzzed-'));
    const file = join(folder, 'jobs.sqlite');
    return {
      config: { driver: 'database', url: `sqlite:${file}` },
      async push(payloads) {
        const database = openSqlite(file, 5000);
        const insert = database.prepare(
          'INSERT INTO jobs (queue, payload, available_at, created_at) VALUES (?1, ?2, 0, 0)',
        );
        database.exec('BEGIN IMMEDIATE');
        for (const payload of payloads) insert.run(['default', payload]);
        database.exec('COMMIT');
        database.close();
      },
      async leave() {
        rmSync(folder, { recursive: true });
      },
    };
  },
};
