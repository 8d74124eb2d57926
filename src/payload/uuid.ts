/** Makes the ids of jobs: UUIDs of version 7, which sort by the moment they were made. */
import { hash, randomFillSync } from 'node:crypto';
import { type Milliseconds, systemClock } from '../base/clock';

/**
 * Layout (RFC 9562): 48 bits of milliseconds, then a counter of 30 bits in the places of `rand_a` and the first half of
 * `rand_b`, then 44 random bits. The counter starts at random in each millisecond and counts up within it.
 */
const POOL_BYTES = 8192;
/** 4 for a new start of the counter, 6 for the random end. */
const DRAWN_BYTES = 10;
/** Starts lie in the lower half of the range, which leaves half a billion ids for each millisecond. */
const COUNTER_START = 2 ** 29;
const COUNTER_END = 2 ** 30;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

const pool = Buffer.alloc(POOL_BYTES);
let place = POOL_BYTES;
let milliseconds = 0;
let prefix = '';
let counter = 0;

/** Greater, as a text, than all that this process made before, also when the clock goes back. */
export function uuidv7(): string {
  if (place + DRAWN_BYTES > POOL_BYTES) {
    randomFillSync(pool);
    place = 0;
  }
  const now = systemClock.now();
  if (now > milliseconds) start(now);
  else if (++counter === COUNTER_END) start(milliseconds + 1);
  const low = ((counter & 0xf) << 4) | (pool[place + 4]! & 0xf);
  const id =
    prefix +
    pair(0x7000 | (counter >>> 18)) +
    '-' +
    pair(0x8000 | ((counter >>> 4) & 0x3fff)) +
    '-' +
    pair((low << 8) | pool[place + 5]!) +
    pair(pool.readUInt16BE(place + 6)) +
    pair(pool.readUInt16BE(place + 8));
  place += DRAWN_BYTES;
  return id;
}

/** When an id was made, by the clock of its maker; undefined: it is none of version 7. Asked of each job that runs. */
export function momentOfId(id: string): Milliseconds | undefined {
  if (id.length !== 36 || id[14] !== '7') return undefined;
  const moment = Number(`0x${id.slice(0, 8)}${id.slice(9, 13)}`);
  return Number.isNaN(moment) ? undefined : moment;
}

/** The same for the same name and moment: its time is the moment, the rest a hash of both. */
export function uuidAt(name: string, moment: Milliseconds): string {
  const time = Math.floor(moment).toString(16).padStart(12, '0');
  const rest = hash('sha256', `${name}\0${moment}`, 'hex');
  const variant = (0x8 | (Number.parseInt(rest.charAt(3), 16) & 0x3)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-${variant}${rest.slice(4, 7)}-${rest.slice(7, 19)}`;
}

function start(now: number): void {
  milliseconds = now;
  counter = pool.readUInt32BE(place) % COUNTER_START;
  const time = now.toString(16).padStart(12, '0');
  prefix = `${time.slice(0, 8)}-${time.slice(8)}-`;
}

function pair(word: number): string {
  return HEX[word >>> 8]! + HEX[word & 0xff]!;
}
