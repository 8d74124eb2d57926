/** Job ids: UUIDs of version 7, which sort by the moment they were made, and tell when their job became ready. */
import { hash, randomFillSync } from 'node:crypto';
import { systemClock, type Milliseconds } from '../base/clock';

/**
 * Layout (RFC 9562): 48 bits of milliseconds, then a counter of 30 bits in `rand_a` and the first part of `rand_b`, then 44
 * random bits. The counter starts at a random value in each millisecond and counts up within it.
 */
const POOL_BYTES = 8192;
/** Hexadecimal digits: 8 for a new start of the counter, 11 for the random end. */
const DRAWN_DIGITS = 19;
const RANDOM_DIGITS = 11;
/** Starts are in the lower half of the range, which leaves half a billion ids for each millisecond. */
const COUNTER_START = 2 ** 29;
const COUNTER_END = 2 ** 30;

const HEX = '0123456789abcdef';

const pool = Buffer.alloc(POOL_BYTES);
let digits = '';
let place = 0;
let milliseconds = 0;
let moment = '';
let counter = 0;
/**
 * Everything up to the first digit of the last group. Sixteen consecutive ids share it, so each id is joined from few
 * pieces.
 */
let head = '';

/** Greater, as a string, than any id that this process made before, even if the clock goes back. */
export function uuidv7(): string {
  if (place + DRAWN_DIGITS > digits.length) {
    digits = randomFillSync(pool).toString('hex');
    place = 0;
  }
  const now = systemClock.now();
  if (now > milliseconds) start(now);
  else if (++counter === COUNTER_END) start(milliseconds + 1);
  else if ((counter & 0xf) === 0) lead();
  const end = HEX.charAt(counter & 0xf) + digits.slice(place, place + RANDOM_DIGITS);
  place += RANDOM_DIGITS;
  return head + end;
}

/** When an id was made, by its maker's clock. Undefined if it is not of version 7. Called for each job that runs. */
export function momentOfId(id: string): Milliseconds | undefined {
  if (id.length !== 36 || id[14] !== '7') return undefined;
  const moment = Number(`0x${id.slice(0, 8)}${id.slice(9, 13)}`);
  return Number.isNaN(moment) ? undefined : moment;
}

/** The same id for the same name and moment: its time is the moment, the rest a hash of both. */
export function uuidAt(name: string, moment: Milliseconds): string {
  const time = Math.floor(moment).toString(16).padStart(12, '0');
  const rest = hash('sha256', `${name}\0${moment}`, 'hex');
  const variant = (0x8 | (Number.parseInt(rest.charAt(3), 16) & 0x3)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-${variant}${rest.slice(4, 7)}-${rest.slice(7, 19)}`;
}

function start(now: number): void {
  milliseconds = now;
  counter = Number.parseInt(digits.slice(place, place + DRAWN_DIGITS - RANDOM_DIGITS), 16) % COUNTER_START;
  place += DRAWN_DIGITS - RANDOM_DIGITS;
  moment = now.toString(16).padStart(12, '0').replace(/^.{8}/, '$&-');
  lead();
}

function lead(): void {
  const [first, second] = [0x7000 | (counter >>> 18), 0x8000 | ((counter >>> 4) & 0x3fff)];
  head = `${moment}-${first.toString(16)}-${second.toString(16)}-`;
}

/** The field of a payload that says so if its id does not. */
export const READY_AT = 'readyAt';

/** Null: it follows other jobs, and nobody knows when they end. Undefined: it was ready when it was made. */
export type ReadyAt = Milliseconds | null | undefined;

/** By its dispatcher's clock. Undefined if nobody knows. @param said the value of that field */
export function readyAtOf(id: string, said: unknown): Milliseconds | undefined {
  if (said === undefined) return momentOfId(id);
  return typeof said === 'number' ? said : undefined;
}
