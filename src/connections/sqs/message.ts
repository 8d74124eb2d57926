/** Converts a payload to the message that carries it, and back; and what this process holds of a message. */
import type { Message, SendMessageBatchRequestEntry } from '@aws-sdk/client-sqs';
import { monotonicOrigin, type Milliseconds, type Seconds, type Clock } from '../../base/clock';
import {
  hasCounters,
  countersIn,
  hasId,
  noCounters,
  withCounters,
  withId,
  type Counters,
} from '../../payload/counters';
import { InvalidPayloadError } from '../../payload/errors';
import type { Attributes } from './caller';
import type { Reservation } from '../contract';

/** The longest delay that SQS supports. */
const LONGEST_DELAY: Seconds = 900;

/** A job's whole delay, from the moment it was sent; only if SQS cannot delay it for that long. */
const DELAY_ATTRIBUTE = 'Onqueue.Delay';

/** Two characters that JSON may contain and SQS refuses; they are written as escapes, which mean the same. */
const ESCAPED = /[\uFFFE\uFFFF]/g;

/** Characters that SQS refuses and JSON cannot contain. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const REFUSED = /[\u0000-\u0008\u000B\u000C\u000E-\u001F]/;

export interface Outgoing {
  readonly payload: string;
  readonly delay: Seconds;
  readonly group?: string | undefined;
  readonly deduplication?: string | undefined;
  readonly attributes?: Attributes | undefined;
}

/** @throws InvalidPayloadError SQS does not take such a text */
export function entryOf({ payload, delay, group, deduplication, attributes }: Outgoing): MessageEntry {
  if (payload === '') throw new InvalidPayloadError('it is empty, which no message of SQS may be');
  if (REFUSED.test(payload)) {
    throw new InvalidPayloadError('it holds control characters, which SQS does not take; JSON writes them as escapes');
  }
  const seconds = Math.ceil(delay);
  const own =
    seconds > LONGEST_DELAY ? { [DELAY_ATTRIBUTE]: { DataType: 'Number', StringValue: String(seconds) } } : {};
  const all = { ...attributes, ...own };
  return {
    MessageBody: payload.replace(ESCAPED, (character) => `\\u${character.charCodeAt(0).toString(16)}`),
    ...(seconds > 0 && { DelaySeconds: Math.min(seconds, LONGEST_DELAY) }),
    ...(group !== undefined && { MessageGroupId: group }),
    ...(deduplication !== undefined && { MessageDeduplicationId: deduplication }),
    ...(Object.keys(all).length > 0 && { MessageAttributes: all }),
  };
}

export type MessageEntry = Omit<SendMessageBatchRequestEntry, 'Id'> & { readonly MessageBody: string };

/** The size of a message in bytes, as SQS counts it. */
export function sizeOf({ MessageBody, MessageAttributes = {} }: MessageEntry): number {
  let bytes = Buffer.byteLength(MessageBody);
  for (const [name, { DataType = '', StringValue = '', BinaryValue = [] }] of Object.entries(MessageAttributes)) {
    bytes += Buffer.byteLength(name + DataType + StringValue) + BinaryValue.length;
  }
  return bytes;
}

/** Attributes given by others: they are sent again with its text. */
export function attributesOf({ MessageAttributes }: Message): Attributes | undefined {
  const { [DELAY_ATTRIBUTE]: _, ...others } = MessageAttributes ?? {};
  return Object.keys(others).length > 0 ? others : undefined;
}

/** Seconds until the job may be handed out; 0 or less: now. `now`: by SQS's clock. */
export function remainingDelay({ Attributes = {}, MessageAttributes = {} }: Message, now: Milliseconds): Seconds {
  const delay = Number(MessageAttributes[DELAY_ATTRIBUTE]?.StringValue ?? 0);
  const sent = Number(Attributes.SentTimestamp);
  return delay > 0 && sent > 0 ? Math.ceil(sent / 1000 + delay - now / 1000) : 0;
}

export interface Incoming {
  readonly payload: Buffer;
  readonly counters: Counters;
}

/**
 * The text of a message, with this delivery added to its counters. A message cannot be changed. On a standard queue each
 * delivery but the first means that a holder died, because a released job is a new message. On a FIFO queue a new message
 * would cost the job its place, so there each delivery is a try.
 */
export function incoming({ Body = '', MessageId = '', Attributes = {} }: Message, isFifo: boolean): Incoming {
  const deliveries = Math.max(Number(Attributes.ApproximateReceiveCount ?? 1), 1);
  const text = Buffer.from(Body);
  const counters = countersIn(text);
  // The worker that runs it fails it, byte for byte.
  if (counters === undefined) return { payload: text, counters: { ...noCounters, attempts: deliveries } };
  const { attempts, crashes } = counters;
  const counted = isFifo
    ? { ...counters, attempts: attempts + deliveries }
    : { ...counters, attempts: attempts + 1, crashes: crashes + deliveries - 1 };
  return { payload: withCounters(hasId(text) ? text : withId(text, MessageId), counted), counters: counted };
}

/** The text that goes back; a text that is not a JSON object has no counters. */
export function textWith(payload: Buffer, counters: Counters): string {
  return (hasCounters(payload) ? withCounters(payload, counters) : payload).toString();
}

/**
 * A message that this process holds: until when, and whether it has ended.
 *
 * SQS does not say that a receipt has become worthless: it deletes the message or ignores the request silently. So this
 * process uses its own clock to know whether a lease has ended, and all its threads share the same memory.
 *
 * The token of a reservation; cloned into another thread, it still refers to the same memory.
 */
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
export const LONGEST_LEASE: Seconds = 12 * 3600;

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
    return Math.min(Math.ceil(seconds), Math.floor((this.token.receivedAt - now) / 1000 + LONGEST_LEASE));
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
