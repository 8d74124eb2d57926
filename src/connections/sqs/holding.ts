/**
 * A message that this process holds: until when, and whether it has ended.
 *
 * SQS does not say that a receipt has become worthless: it deletes the message or ignores the request silently. So this
 * process uses its own clock to know whether a lease has ended, and all its threads share the same memory.
 */
import { type Clock, type Milliseconds, monotonicOrigin, type Seconds } from '../../base/clock';
import type { Reservation } from '../contract';
import type { Attributes } from './client';

/** The token of a reservation; cloned into another thread, it still refers to the same memory. */
export interface Token {
  readonly receipt: string;
  /** When it was asked for. */
  readonly receivedAt: Milliseconds;
  /** Its state, and when its lease ends. */
  readonly memory: BigInt64Array<SharedArrayBuffer>;
  /** Sent again together with its text. */
  readonly group?: string | undefined;
  readonly attributes?: Attributes | undefined;
}

const STATE = 0;
const LEASE_END = 1;

const OPEN = 0n;
/** Somebody is ending it. */
const CLAIMED = 1n;
/** Its text was sent again, but the old message is not deleted yet. */
const SENT = 2n;
const ENDED = 3n;

/** When SQS takes a message back, however often its lease was renewed. */
const LONGEST: Milliseconds = 12 * 3600 * 1000;

const ORIGIN = monotonicOrigin();

/** The time by a clock that all threads of the process share. */
export function sharedNow(clock: Clock): Milliseconds {
  return clock.monotonic() + ORIGIN;
}

export type Claim = 'open' | 'sent' | 'lost';

export class Holding {
  readonly token: Token;

  constructor(token: Token) {
    this.token = token;
  }

  /** Undefined if it is not ours. */
  static of({ token }: Reservation): Holding | undefined {
    return token === undefined ? undefined : new Holding(token as Token);
  }

  static receive(
    receipt: string,
    receivedAt: Milliseconds,
    lease: Seconds,
    sentAgain: Pick<Token, 'group' | 'attributes'>,
  ): Holding {
    const memory = new BigInt64Array(new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT));
    const holding = new Holding({ receipt, receivedAt, memory, ...sentAgain });
    holding.leaseUntil(receivedAt + lease * 1000);
    return holding;
  }

  get leaseEnd(): Milliseconds {
    return Number(Atomics.load(this.token.memory, LEASE_END));
  }

  leaseUntil(moment: Milliseconds): void {
    Atomics.store(this.token.memory, LEASE_END, BigInt(Math.floor(moment)));
  }

  /** How long it can be hidden from now on, in whole seconds: as long as asked for, or as long as SQS still allows. */
  hideable(seconds: Seconds, now: Milliseconds): Seconds {
    return Math.min(Math.ceil(seconds), Math.floor((this.token.receivedAt + LONGEST - now) / 1000));
  }

  isOurs(now: Milliseconds): boolean {
    return Atomics.load(this.token.memory, STATE) === OPEN && now < this.leaseEnd;
  }

  /** `open`: ours to end. `sent`: only has to be deleted. */
  claim(now: Milliseconds): Claim {
    if (this.#swap(SENT, CLAIMED)) return 'sent';
    return now < this.leaseEnd && this.#swap(OPEN, CLAIMED) ? 'open' : 'lost';
  }

  /** Ending it failed, and may be tried again. */
  giveBack(sent: boolean): void {
    Atomics.store(this.token.memory, STATE, sent ? SENT : OPEN);
  }

  end(): void {
    Atomics.store(this.token.memory, STATE, ENDED);
  }

  #swap(from: bigint, to: bigint): boolean {
    return Atomics.compareExchange(this.token.memory, STATE, from, to) === from;
  }
}
