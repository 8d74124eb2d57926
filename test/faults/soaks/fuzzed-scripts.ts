/** Hostile texts in every place where a script of Redis reads payloads are accounted for, byte by byte. */
import Redis from 'ioredis';
import { builtInConnectors, QueueManager } from '../../../src/index';
import { readCounters } from '../../../src/payload/counters';
import type { Reservation, Settlement } from '../../../src/connections/contract';
import { RecordingLogger } from '../../support/application';
import { Dice } from '../../support/fuzzed-payloads';
import { hostileTexts } from '../../support/hostile-texts';
import { startRedisServer } from '../../support/redis-server';
import type { Finding, Soak } from './soak';

interface Size {
  readonly texts: number;
  /** By default a different one each time. */
  readonly seed?: number;
}

const PAGE = 1000;
/** The most bytes that scripts add to a text: an id, and counters for each turn if they are not found at its end. */
const MOST_ADDED = 1000;
const QUEUE = 'default';

export const hostileTextsInAllPlaces: Soak<Size> = {
  name: 'fuzzed-scripts',
  title: 'ready, due and reserved texts that no script can parse',
  figure: 'every text is accounted for, byte by byte',
  stores: ['redis'],
  sizes: { test: { texts: 1000, seed: 20_261_122 }, soak: { texts: 20_000 }, full: { texts: 200_000 } },

  async play(_, { texts: count, seed = Math.floor(Math.random() * 2 ** 31) }) {
    const server = await startRedisServer();
    const client = new Redis(server.url);
    const log = new RecordingLogger();
    const manager = new QueueManager(
      { connectors: builtInConnectors, logger: log },
      { connections: { redis: { driver: 'redis', url: server.url } } },
    );
    try {
      const driver = manager.driver();
      const dice = new Dice(seed);
      const texts = hostileTexts(seed, count);
      // Adds the queue to the known queues, so that its failed jobs are listed.
      await driver.push(QUEUE, [{ payload: '{"job":"first","attempts":0}' }]);
      await driver.queues.clear!(QUEUE);
      const ledger = new Ledger(texts);
      for (let at = 0; at < texts.length; at += PAGE) {
        await spread(client, texts.slice(at, at + PAGE), dice);
        await empty(at);
      }
      const kept = await driver.failed!.list({ limit: count + 1 });
      for (const { payload } of kept) ledger.strike(payload, 'failed');
      const waiting = await manager.connection().size();
      const told = log.messages('error').filter((line) => !line.startsWith('A payload on'));
      return ledger.finding(seed, kept.length, [...(waiting > 0 ? [`${waiting} wait still`] : []), ...told]);

      async function empty(page: number): Promise<void> {
        let settlements: Settlement[] = [];
        for (let turn = 0; turn < PAGE; turn += 1) {
          const request = { queues: [QUEUE], limit: 1 + dice.below(100), lease: 60 };
          const { results, reply } = await driver.exchange(settlements, request);
          for (const [index, result] of results.entries()) {
            if (result !== 'settled') ledger.complain(`an outcome of page ${page} came to ${JSON.stringify(result)}`);
            else if (settlements[index]!.outcome === 'completed')
              ledger.strike(settlements[index]!.reservation.payload, 'completed');
          }
          settlements = reply.reservations.map((reservation) => outcomeOf(reservation, dice));
          if (settlements.length === 0 && reply.setAside.length === 0) return;
        }
        ledger.complain(`page ${page} has no end`);
      }
    } finally {
      await manager.close();
      client.disconnect();
      await server.stop();
    }
  },
};

/** Stores some as ready, some as due, and some with expired leases. */
async function spread(client: Redis, texts: readonly Buffer[], dice: Dice): Promise<void> {
  const pipeline = client.pipeline();
  for (const [at, text] of texts.entries()) {
    const place = dice.below(4);
    if (place === 0) pipeline.zadd(`queues:${QUEUE}:delayed`, at + 1, text);
    else if (place === 1) pipeline.zadd(`queues:${QUEUE}:reserved`, at + 1, text);
    else pipeline.rpush(`queues:${QUEUE}`, text);
  }
  await pipeline.exec();
}

function outcomeOf(reservation: Reservation, dice: Dice): Settlement {
  const { counters } = reservation;
  const chance = dice.below(10);
  if (chance < 2 && counters.releases < 3) {
    return { outcome: 'released', reservation, delay: 0, counters: { ...counters, releases: counters.releases + 1 } };
  }
  if (chance < 4) {
    const failure = { id: `failed-${dice.below(2 ** 31)}-${dice.below(2 ** 31)}`, name: 'fuzzed', exception: 'no' };
    return { outcome: 'failed', reservation, counters, failure };
  }
  return { outcome: 'completed', reservation };
}

/** The texts that were not met yet. */
class Ledger {
  readonly #texts: readonly Buffer[];
  readonly #struck: boolean[];
  /** Indexed by the whole text, and by the part before its counters. */
  readonly #places = new Map<string, number[]>();
  readonly #offences: string[] = [];

  constructor(texts: readonly Buffer[]) {
    this.#texts = texts;
    this.#struck = texts.map(() => false);
    for (const [place, text] of texts.entries()) {
      for (const known of new Set([text.toString('latin1'), text.toString('latin1', 0, bodyEnd(text))])) {
        const places = this.#places.get(known);
        if (places === undefined) this.#places.set(known, [place]);
        else places.push(place);
      }
    }
  }

  complain(offence: string): void {
    this.#offences.push(offence);
  }

  /** The longest text that it could have been. */
  strike(payload: Buffer, end: string): void {
    const text = payload.toString('latin1');
    for (let length = text.length; length >= Math.max(text.length - MOST_ADDED, 0); length -= 1) {
      const place = this.#places.get(text.slice(0, length))?.find((one) => !this.#struck[one]);
      if (place === undefined) continue;
      this.#struck[place] = true;
      return;
    }
    this.complain(`${end}, and never pushed: ${JSON.stringify(text.slice(0, 300))}`);
  }

  finding(seed: number, kept: number, more: readonly string[]): Finding {
    const missing = this.#texts.filter((_, place) => !this.#struck[place]);
    const offences = [
      ...this.#offences,
      ...more,
      ...missing.map((text) => `gone: ${JSON.stringify(text.toString('latin1'))}`),
    ];
    const found = this.#texts.length - missing.length;
    return {
      reached: `${found} of ${this.#texts.length} accounted for, ${kept} of them among the failed jobs (seed ${seed})`,
      offences: offences.slice(0, 20),
    };
  }
}

function bodyEnd(bytes: Buffer): number {
  const closing = bytes.lastIndexOf('}');
  return readCounters(bytes)?.bodyEnd ?? (closing === -1 ? bytes.length : closing);
}
