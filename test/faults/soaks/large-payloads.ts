/** Payloads of a megabyte go through every state and must come out byte for byte. */
import type { Connection, Reservation } from '../../../src/connections/contract';
import { afterFreeRelease, afterRetry, readCounters, withCounters } from '../../../src/payload/counters';
import { eventually } from '../../support/eventually';
import { Carry, digestOf } from '../kit/programs/jobs';
import { Stage } from '../kit/stage';
import { meantToPass } from '../../support/meant-to-pass';
import { type Soak, tally } from './soak';
import { reserveFrom, settleIn } from '../../support/exchange';

interface Size {
  readonly rounds: number;
}

const LEASE = meantToPass(5);
const MEGABYTE = 1_000_000;

const repeated = (piece: string, bytes = MEGABYTE): string =>
  piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)));

/** Data that encoders and decoders are known to change. */
const BODIES: Record<string, string> = {
  ascii: JSON.stringify(repeated('The quick brown fox. ')),
  unicode: JSON.stringify(repeated('日本語 ÄÖÜ 🧵 e\u0301 ')),
  escapes: `"${repeated('\\u0000\\n\\"\\\\\\/\\ud83e\\uddf5')}"`,
  numbers: `[${repeated('12345678901234567890,1.0,1e400,-0,0.10,')}1]`,
  containers: `[${repeated('[],{},{"":[[]]},')}0]`,
  duplicates: `{${repeated('"a":1, "a" : 2,\t')}"a":3}`,
};

export const largePayloads: Soak<Size> = {
  name: 'large',
  title: 'payloads of 1 MB through every state',
  figure: 'byte-exact',
  stores: ['redis', 'sqlite'],
  sizes: { test: { rounds: 1 }, soak: { rounds: 20 }, full: { rounds: 100 } },

  async play(store, { rounds }) {
    const stage = await Stage.open(store, { lease: LEASE });
    try {
      const offences: string[] = [];
      let moves = 0;
      for (let round = 0; round < rounds; round += 1) {
        for (const [name, body] of Object.entries(BODIES)) {
          const payload = `{"displayName":"${name}","job":"probe","data":${body},"id":"${name}-${round}","attempts":0}`;
          const journey = new Journey(stage.driver, name, Buffer.from(payload));
          await journey.goAllTheWay();
          offences.push(...journey.offences);
          moves += journey.moves;
        }
      }
      const text = repeated('carried 🧵 ', MEGABYTE - 1000);
      await stage.dispatch(Array.from({ length: 5 * rounds }, () => new Carry(text, digestOf(text))));
      stage.hire({ concurrency: 5 });
      await stage.drained();
      await stage.dismiss();

      const account = await stage.account({ firstTries: false });
      return {
        reached: `${moves} looks at ${rounds * Object.keys(BODIES).length} payloads; by workers ${tally(account)}`,
        offences: [
          ...offences,
          ...account.offences,
          ...(account.failed > 0 ? [`${account.failed} came out changed`] : []),
        ],
      };
    } finally {
      await stage.close();
    }
  },
};

/** Moves one payload through its states: ready, reserved, delayed, reserved, expired, reserved, failed, ready, reserved, gone. */
class Journey {
  readonly offences: string[] = [];
  moves = 0;
  readonly #driver: Connection;
  readonly #name: string;
  readonly #payload: Buffer;

  constructor(driver: Connection, name: string, payload: Buffer) {
    this.#driver = driver;
    this.#name = name;
    this.#payload = payload;
  }

  async goAllTheWay(): Promise<void> {
    const driver = this.#driver;
    await driver.push('default', [{ payload: this.#payload.toString() }]);
    await this.#peek('ready');
    const first = await this.#reserve(LEASE);
    await this.#peek('reserved');
    const counters = afterFreeRelease(first.counters);
    await settleIn(driver, [{ outcome: 'released', reservation: first, delay: 0.05, counters }]);
    await this.#peek('delayed');
    await this.#reserve(0.05);
    const reclaimed = await this.#reserve(LEASE);
    if (reclaimed.counters.crashes !== 1) this.offences.push(`${this.#name}: its lease did not end`);
    const failure = { id: `failed-${this.#name}`, name: this.#name, exception: 'on its way' };
    await settleIn(driver, [{ outcome: 'failed', reservation: reclaimed, counters: reclaimed.counters, failure }]);
    const entry = (await driver.failed!.find(failure.id))[0]!;
    this.#compare('failed', entry.payload);
    const again = withCounters(entry.payload, afterRetry(reclaimed.counters));
    await driver.failed!.retry(entry, again);
    await this.#peek('ready');
    await settleIn(driver, [{ outcome: 'completed', reservation: await this.#reserve(LEASE) }]);
  }

  async #peek(state: 'ready' | 'delayed' | 'reserved'): Promise<void> {
    const [job] = await this.#driver.queues.peek!('default', state, 1);
    this.#compare(state, job?.payload);
  }

  async #reserve(lease: number): Promise<Reservation> {
    const reservation = await eventually(async () => {
      const { reservations } = await reserveFrom(this.#driver, { queues: ['default'], limit: 1, lease });
      return reservations[0];
    });
    this.#compare('reserved', reservation!.payload);
    return reservation!;
  }

  #compare(state: string, payload: Buffer | undefined): void {
    this.moves += 1;
    if (payload === undefined || !bodyOf(payload).equals(bodyOf(this.#payload))) {
      this.offences.push(`${this.#name} is not what was pushed when it is ${state}`);
    }
  }
}

/** The payload without its counters, which change with every move. */
function bodyOf(payload: Buffer): Buffer {
  const { bodyEnd } = readCounters(payload)!;
  return payload.subarray(0, bodyEnd);
}
