/** Converts a payload to the message that carries it, and back. */
import type { Message, SendMessageBatchRequestEntry } from '@aws-sdk/client-sqs';
import type { Milliseconds, Seconds } from '../../base/clock';
import {
  hasCounters,
  type Counters,
  countersIn,
  hasId,
  noCounters,
  withCounters,
  withId,
} from '../../payload/counters';
import { InvalidPayloadError } from '../../payload/errors';
import type { Attributes } from './client';

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
