/**
 * The queues of SQS as AWS documents them: visibility timeouts, receipts that change with each receive, groups,
 * deduplication, redrive, retention, and the limits of each action. If the documentation does not say what happens to an
 * outdated receipt, the model does what is worst for a client: it silently does nothing.
 */
import { createHash, randomUUID } from 'node:crypto';

export interface Attribute {
  readonly DataType: string;
  readonly StringValue?: string;
  readonly BinaryValue?: string;
}

export interface SendInput {
  readonly MessageBody?: string;
  readonly DelaySeconds?: number;
  readonly MessageAttributes?: Readonly<Record<string, Attribute>>;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
}

export interface ReceiveInput {
  readonly MaxNumberOfMessages?: number;
  readonly VisibilityTimeout?: number;
  readonly WaitTimeSeconds?: number;
  readonly ReceiveRequestAttemptId?: string;
}

/** Milliseconds since 1970. */
type Moment = number;

interface Message {
  readonly id: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, Attribute>> | undefined;
  readonly group: string | undefined;
  readonly sentAt: Moment;
  readonly sequence: number;
  visibleAt: Moment;
  receives: number;
  firstReceivedAt: Moment | undefined;
  receivedAt: Moment;
}

/** What a receive on a FIFO queue returned, to be returned again for the same attempt id. */
interface Attempt {
  readonly at: Moment;
  readonly given: readonly { readonly message: Message; readonly receive: number; readonly visibleAt: Moment }[];
}

/** The error that SQS answers instead of a result. */
export class SqsFault extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

const HOUR = 3_600_000;
const LONGEST_VISIBILITY = 43_200;
const DEDUPLICATION_SPAN = 300_000;
const ATTEMPT_SPAN = 300_000;
const PURGE_SPAN = 60_000;
const DEFAULTS: Readonly<Record<string, string>> = {
  VisibilityTimeout: '30',
  DelaySeconds: '0',
  MaximumMessageSize: '1048576',
  MessageRetentionPeriod: '345600',
  ReceiveMessageWaitTimeSeconds: '0',
};

// oxlint-disable-next-line no-control-regex -- SQS defines the allowed characters by code points
const TAKEN = /^[\u0009\u000A\u000D\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]+$/u;

const invalid = (message: string): SqsFault => new SqsFault('InvalidParameterValue', message);
const invalidAttempt = (id: string, why: string): SqsFault =>
  invalid(`Value ${id} for parameter ReceiveRequestAttemptId is invalid. Reason: ${why}`);
const invalidReceipt = (why: string): SqsFault =>
  invalid(`Value … for parameter ReceiptHandle is invalid. Reason: ${why}`);

export function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

export function sizeOf({ MessageBody = '', MessageAttributes = {} }: SendInput): number {
  let size = Buffer.byteLength(MessageBody);
  for (const [name, { DataType, StringValue = '', BinaryValue = '' }] of Object.entries(MessageAttributes)) {
    size += Buffer.byteLength(name + DataType + StringValue) + Buffer.from(BinaryValue, 'base64').length;
  }
  return size;
}

export class SqsQueueModel {
  readonly name: string;
  readonly isFifo: boolean;
  readonly attributes: Record<string, string>;
  /** The number of messages that may be in flight. A test may lower it. */
  inFlightLimit = 120_000;
  /** This many of the next messages stay visible when handed out, because a standard queue may deliver twice. */
  duplicates = 0;
  /** The counts it reports, because those of SQS lag behind. Undefined reports the true ones. */
  estimate: { readonly ready: number; readonly delayed: number; readonly reserved: number } | undefined;
  readonly #now: () => Moment;
  readonly #deadLetterQueue: (arn: string) => SqsQueueModel | undefined;
  readonly #changed: () => void;
  #messages: Message[] = [];
  readonly #deduplicated = new Map<string, { readonly at: Moment; readonly id: string }>();
  readonly #attempts = new Map<string, Attempt>();
  #purgedAt: Moment = -Infinity;
  #sequence = 0;

  constructor(
    name: string,
    attributes: Readonly<Record<string, string>>,
    world: {
      readonly now: () => Moment;
      readonly deadLetterQueue: (arn: string) => SqsQueueModel | undefined;
      readonly changed: () => void;
    },
  ) {
    this.name = name;
    this.isFifo = name.endsWith('.fifo');
    if (this.isFifo !== (attributes['FifoQueue'] === 'true')) {
      throw invalid('The queue name of a FIFO queue ends in .fifo, and no other');
    }
    this.attributes = { ...DEFAULTS, ...attributes };
    this.#now = world.now;
    this.#deadLetterQueue = world.deadLetterQueue;
    this.#changed = world.changed;
  }

  send(input: SendInput): { MessageId: string; MD5OfMessageBody: string } {
    const { MessageBody = '', DelaySeconds, MessageAttributes, MessageGroupId, MessageDeduplicationId } = input;
    this.#checkSend(input);
    const now = this.#now();
    const digest = { MD5OfMessageBody: md5(MessageBody) };
    if (this.isFifo) {
      const first = this.#deduplicated.get(MessageDeduplicationId!);
      if (first !== undefined && now < first.at + DEDUPLICATION_SPAN) return { MessageId: first.id, ...digest };
    }
    const message: Message = {
      id: randomUUID(),
      body: MessageBody,
      attributes: MessageAttributes,
      group: MessageGroupId,
      sentAt: now,
      sequence: (this.#sequence += 1),
      visibleAt: now + (DelaySeconds ?? Number(this.attributes['DelaySeconds'])) * 1000,
      receives: 0,
      firstReceivedAt: undefined,
      receivedAt: 0,
    };
    if (this.isFifo) this.#deduplicated.set(MessageDeduplicationId!, { at: now, id: message.id });
    this.#messages.push(message);
    this.#changed();
    return { MessageId: message.id, ...digest };
  }

  receive(input: ReceiveInput): object[] {
    const { MaxNumberOfMessages: most = 1, VisibilityTimeout, WaitTimeSeconds = 0, ReceiveRequestAttemptId } = input;
    if (most < 1 || most > 10) throw invalid(`Value ${most} for parameter MaxNumberOfMessages is invalid.`);
    if (WaitTimeSeconds < 0 || WaitTimeSeconds > 20) throw invalid('Value for parameter WaitTimeSeconds is invalid.');
    const timeout = VisibilityTimeout ?? Number(this.attributes['VisibilityTimeout']);
    checkVisibility(timeout);
    this.#sweep();
    const again = this.#givenBefore(ReceiveRequestAttemptId);
    if (again === undefined && this.#hidden().length >= this.inFlightLimit)
      throw new SqsFault('OverLimit', 'Too many messages in flight.', 403);
    const messages = again ?? this.#available().slice(0, most);
    const replies = messages.map((message) => this.#handOut(message, timeout, again !== undefined));
    if (ReceiveRequestAttemptId !== undefined && messages.length > 0) {
      const given = messages.map((message) => ({ message, receive: message.receives, visibleAt: message.visibleAt }));
      const at = again === undefined ? this.#now() : this.#attempts.get(ReceiveRequestAttemptId)!.at;
      this.#attempts.set(ReceiveRequestAttemptId, { at, given });
    }
    return replies;
  }

  /** Hides a message for the given number of seconds from now. */
  changeVisibility(receipt: string, seconds: number): void {
    checkVisibility(seconds);
    const found = this.#find(receipt);
    if (found.message === undefined) {
      throw invalidReceipt('Message does not exist or is not available for visibility timeout change.');
    }
    if (!this.#isCurrent(found)) return;
    const { message } = found;
    const now = this.#now();
    if (now + seconds * 1000 > message.receivedAt + 12 * HOUR) {
      throw invalid('Total VisibilityTimeout for the message is beyond the limit [43200 seconds]');
    }
    message.visibleAt = now + seconds * 1000;
    this.#changed();
  }

  delete(receipt: string): void {
    const found = this.#find(receipt);
    if (found.message === undefined) return;
    const isLast = found.receive === found.message.receives;
    if (this.isFifo ? !this.#isCurrent(found) : !isLast) return;
    this.#messages = this.#messages.filter((message) => message !== found.message);
    this.#changed();
  }

  purge(): void {
    const now = this.#now();
    if (now < this.#purgedAt + PURGE_SPAN) {
      throw new SqsFault('PurgeQueueInProgress', 'Only one PurgeQueue operation is allowed every 60 seconds.', 403);
    }
    this.#purgedAt = now;
    this.#messages = [];
  }

  get counts(): { readonly ready: number; readonly delayed: number; readonly reserved: number } {
    this.#sweep();
    const hidden = this.#hidden().length;
    const delayed = this.#messages.filter((one) => one.receives === 0 && one.visibleAt > this.#now()).length;
    return { ready: this.#messages.length - hidden - delayed, delayed, reserved: hidden };
  }

  get allAttributes(): Readonly<Record<string, string>> {
    const { ready, delayed, reserved } = this.estimate ?? this.counts;
    return {
      ...this.attributes,
      QueueArn: `arn:aws:sqs:eu-west-1:000000000000:${this.name}`,
      ApproximateNumberOfMessages: String(ready),
      ApproximateNumberOfMessagesDelayed: String(delayed),
      ApproximateNumberOfMessagesNotVisible: String(reserved),
    };
  }

  /** The bodies of all its messages, in the order they were sent. */
  get bodies(): readonly string[] {
    return this.#messages.map(({ body }) => body);
  }

  /** When the next hidden message becomes visible. Infinity if none is hidden. */
  get nextVisible(): Moment {
    return Math.min(Infinity, ...this.#messages.map(({ visibleAt }) => visibleAt).filter((at) => at > this.#now()));
  }

  #checkSend(input: SendInput): void {
    const { MessageBody = '', DelaySeconds, MessageGroupId, MessageDeduplicationId } = input;
    if (MessageBody === '')
      throw new SqsFault('MissingParameter', 'The request must contain the parameter MessageBody.');
    if (!TAKEN.test(MessageBody)) {
      throw new SqsFault('InvalidMessageContents', 'Invalid characters found. Valid unicode characters are …');
    }
    const most = Number(this.attributes['MaximumMessageSize']);
    if (sizeOf(input) > most) {
      throw invalid(`One or more parameters are invalid. Reason: Message must be shorter than ${most} bytes.`);
    }
    if (DelaySeconds !== undefined && (DelaySeconds < 0 || DelaySeconds > 900 || !Number.isInteger(DelaySeconds))) {
      throw invalid(
        `Value ${DelaySeconds} for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.`,
      );
    }
    for (const id of [MessageGroupId, MessageDeduplicationId]) {
      if (id !== undefined && !/^[!-~]{1,128}$/.test(id))
        throw invalid(`Value ${id} is no id of a group or a message.`);
    }
    if (!this.isFifo) {
      if (MessageDeduplicationId !== undefined)
        throw invalid('MessageDeduplicationId is not valid for this queue type.');
      return;
    }
    if (DelaySeconds !== undefined) {
      throw invalid('Value for parameter DelaySeconds is invalid. Reason: not valid for this queue type.');
    }
    if (MessageGroupId === undefined || MessageDeduplicationId === undefined) {
      throw new SqsFault('MissingParameter', 'The request must contain MessageGroupId and MessageDeduplicationId.');
    }
  }

  /**
   * The messages handed out for this attempt id. Undefined if there were none, or the attempt is more than five minutes old.
   *
   * @throws SqsFault if one of them has changed since
   */
  #givenBefore(id: string | undefined): readonly Message[] | undefined {
    if (id === undefined) return undefined;
    if (!this.isFifo) throw invalidAttempt(id, 'The parameter is not valid for this queue type.');
    if (!/^[!-~]{1,128}$/.test(id)) throw invalidAttempt(id, 'It may have 128 letters, digits and punctuation marks.');
    const now = this.#now();
    const attempt = this.#attempts.get(id);
    if (attempt === undefined || now >= attempt.at + ATTEMPT_SPAN) return undefined;
    for (const { message, receive, visibleAt } of attempt.given) {
      const isSame = message.receives === receive && message.visibleAt === visibleAt && visibleAt > now;
      if (isSame && this.#messages.includes(message)) continue;
      throw invalidAttempt(
        id,
        'The receiveRequestAttemptId is not valid anymore since the receive call is not retryable.',
      );
    }
    return attempt.given.map(({ message }) => message);
  }

  /** @param again whether this repeats an earlier receive, which keeps the receipt */
  #handOut(message: Message, timeout: number, again: boolean): object {
    const now = this.#now();
    if (!again) message.receives += 1;
    message.receivedAt = now;
    message.firstReceivedAt ??= now;
    if (this.duplicates > 0 && !this.isFifo) this.duplicates -= 1;
    else message.visibleAt = now + timeout * 1000;
    return {
      MessageId: message.id,
      ReceiptHandle: Buffer.from(`${message.id} ${message.receives}`).toString('base64'),
      Body: message.body,
      MD5OfBody: md5(message.body),
      ...(message.attributes !== undefined && { MessageAttributes: message.attributes }),
      Attributes: {
        ApproximateReceiveCount: String(message.receives),
        ApproximateFirstReceiveTimestamp: String(message.firstReceivedAt),
        SentTimestamp: String(message.sentAt),
        ...(message.group !== undefined && { MessageGroupId: message.group }),
      },
    };
  }

  // Removes messages past their retention, and moves those received too often to the dead-letter queue.
  #sweep(): void {
    const now = this.#now();
    const kept = Number(this.attributes['MessageRetentionPeriod']) * 1000;
    this.#messages = this.#messages.filter(({ sentAt }) => now < sentAt + kept);
    const policy = this.attributes['RedrivePolicy'];
    if (policy === undefined) return;
    const { maxReceiveCount, deadLetterTargetArn } = JSON.parse(policy) as Record<string, string>;
    const isDead = ({ receives, visibleAt }: Message): boolean =>
      receives >= Number(maxReceiveCount) && visibleAt <= now;
    const target = this.#deadLetterQueue(deadLetterTargetArn!);
    if (target !== undefined)
      target.#messages.push(...this.#messages.filter(isDead).map((one) => ({ ...one, receives: 0 })));
    this.#messages = this.#messages.filter((message) => !isDead(message));
  }

  #hidden(): readonly Message[] {
    return this.#messages.filter(({ receives, visibleAt }) => receives > 0 && visibleAt > this.#now());
  }

  #available(): readonly Message[] {
    const now = this.#now();
    const visible = this.#messages.filter(({ visibleAt }) => visibleAt <= now);
    if (!this.isFifo) return visible.toSorted((a, b) => a.visibleAt - b.visibleAt || a.sequence - b.sequence);
    const locked = new Set(this.#hidden().map(({ group }) => group));
    return visible.filter(({ group }) => !locked.has(group)).toSorted((a, b) => a.sequence - b.sequence);
  }

  #find(receipt: string): { readonly message: Message | undefined; readonly receive: number } {
    const [id, receive] = Buffer.from(receipt, 'base64').toString().split(' ');
    if (receive === undefined)
      throw new SqsFault('ReceiptHandleIsInvalid', 'The input receipt handle is invalid.', 404);
    return { message: this.#messages.find((message) => message.id === id), receive: Number(receive) };
  }

  /** @throws SqsFault for an outdated receipt on a FIFO queue, which reports it */
  #isCurrent(found: { readonly message: Message | undefined; readonly receive: number }): boolean {
    const { message, receive } = found;
    const isCurrent = message !== undefined && message.receives === receive && message.visibleAt > this.#now();
    if (!isCurrent && this.isFifo) throw invalidReceipt('The receipt handle has expired.');
    return isCurrent;
  }
}

function checkVisibility(seconds: number): void {
  if (seconds < 0 || seconds > LONGEST_VISIBILITY || !Number.isInteger(seconds)) {
    throw invalid(`Value ${seconds} for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and 43200.`);
  }
}
