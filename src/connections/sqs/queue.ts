/** One queue of SQS: its requests, in batches. */
import { randomUUID } from 'node:crypto';
import type {
  Message,
  MessageSystemAttributeName,
  QueueAttributeName,
  ReceiveMessageResult,
  SQS,
} from '@aws-sdk/client-sqs';
import type { Milliseconds, Seconds } from '../../base/clock';
import type { Counts } from '../contract';
import { inBatches, type BatchOf, type EntryResult } from './outbox';
import { isSpentAttempt, type Request, type Send, type SqsCaller } from './caller';
import { sizeOf, type MessageEntry } from './message';
import type { SqsConfig } from './driver';
import { Recent } from '../../base/collections';
import { invalidQueueName } from '../../job/errors';

/** For this long after a change SQS may still return the old counts. */
const LAG: Seconds = 120;

const SYSTEM_ATTRIBUTES: MessageSystemAttributeName[] = ['ApproximateReceiveCount', 'SentTimestamp', 'MessageGroupId'];

/** A request for this queue. It may be repeated unless it says otherwise. */
type Asked = Omit<Request, 'queue'>;

export interface Receive {
  /** Up to 10. */
  readonly limit: number;
  readonly lease: Seconds;
  /** How long SQS waits for a message if there is none; it then asks all of its servers. */
  readonly waits?: Seconds | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A receive from a FIFO queue whose answer was not heard. */
interface Unheard {
  readonly attempt: string;
  readonly lease: Seconds;
  /** From then on others may get its jobs, by the monotonic clock. */
  readonly until: Milliseconds;
}

export class SqsQueue {
  readonly name: string;
  readonly isFifo: boolean;
  readonly caller: SqsCaller;
  readonly #names: QueueNames;
  readonly #mostBytes: number;
  /** Until then this process has a delayed job that SQS may not count yet, by the monotonic clock. */
  #delayedUntil: Milliseconds = -Infinity;
  #unheard: readonly Unheard[] = [];

  /** @param mostBytes most bytes of a batch */
  constructor(name: string, names: QueueNames, caller: SqsCaller, mostBytes: number) {
    this.name = name;
    this.isFifo = names.isFifo(name);
    this.caller = caller;
    this.#names = names;
    this.#mostBytes = mostBytes;
  }

  /**
   * If an answer is lost, the jobs of a standard queue come again when their leases end, whether we ask again or not. A FIFO
   * queue returns the same jobs again to whoever asks with the same id, even in a later call.
   */
  async receive(receive: Receive): Promise<readonly Message[]> {
    if (!this.isFifo) return this.#receive(receive, {});
    const { lease } = receive;
    const { clock } = this.caller.settings;
    const of = { ReceiveRequestAttemptId: this.#takeUnheard(lease) ?? randomUUID() };
    try {
      return await this.#receive(receive, of);
    } catch (error) {
      const until = clock.monotonic() + lease * 1000;
      this.#unheard = [...this.#unheard, { attempt: of.ReceiveRequestAttemptId, lease, until }];
      throw error;
    }
  }

  /** One result for each, in order. Without an answer they are sent again only if SQS recognises duplicates. */
  send(entries: readonly MessageEntry[]): Promise<readonly EntryResult[]> {
    for (const { DelaySeconds = 0 } of entries) this.noteDelay(DelaySeconds);
    const consequence = `${entries.length} jobs were not queued`;
    const request = { operation: 'SendMessageBatch', consequence, repeatable: this.isFifo };
    const batch = { entries, sizeOf, mostBytes: this.#mostBytes, inOrder: this.isFifo };
    return this.#batches(request, batch, (client, input, options) => client.sendMessageBatch(input, options));
  }

  delete(receipts: readonly string[]): Promise<readonly EntryResult[]> {
    const request = { operation: 'DeleteMessageBatch', consequence: 'the outcomes of jobs were not recorded' };
    const entries = receipts.map((ReceiptHandle) => ({ ReceiptHandle }));
    return this.#batches(request, { entries }, (client, input, options) => client.deleteMessageBatch(input, options));
  }

  /** Hides each message for its seconds from now: a renewed lease, or a release if that is 0 or a delay. */
  hide(
    held: readonly { readonly receipt: string; readonly seconds: Seconds }[],
    consequence: string,
  ): Promise<readonly EntryResult[]> {
    const request = { operation: 'ChangeMessageVisibilityBatch', consequence };
    const entries = held.map(({ receipt, seconds }) => ({ ReceiptHandle: receipt, VisibilityTimeout: seconds }));
    return this.#batches(request, { entries }, (client, input, options) =>
      client.changeMessageVisibilityBatch(input, options),
    );
  }

  /** About how many jobs it holds; at least one delayed job if this process has just delayed one. */
  async counts(): Promise<Counts> {
    const found = await this.attributes(`queue '${this.name}' was not counted`);
    return {
      ready: Number(found.ApproximateNumberOfMessages ?? 0),
      delayed: Math.max(Number(found.ApproximateNumberOfMessagesDelayed ?? 0), this.isDelaying ? 1 : 0),
      reserved: Number(found.ApproximateNumberOfMessagesNotVisible ?? 0),
    };
  }

  /** Whether this process has a delayed job that SQS may not count yet. */
  get isDelaying(): boolean {
    return this.caller.settings.clock.monotonic() < this.#delayedUntil;
  }

  /** Notes that a job waits here for `seconds`. */
  noteDelay(seconds: Seconds): void {
    const until = this.caller.settings.clock.monotonic() + Math.min(seconds, LAG) * 1000;
    if (seconds > 0) this.#delayedUntil = Math.max(this.#delayedUntil, until);
  }

  /** The queue's settings, and about how many messages it holds. */
  async attributes(consequence: string): Promise<Readonly<Partial<Record<QueueAttributeName, string>>>> {
    const reply = await this.#call({ operation: 'GetQueueAttributes', consequence }, (client, QueueUrl, options) =>
      client.getQueueAttributes({ QueueUrl, AttributeNames: ['All'] }, options),
    );
    return reply.Attributes ?? {};
  }

  async purge(): Promise<void> {
    const request = { operation: 'PurgeQueue', consequence: 'it was not cleared', repeatable: false };
    await this.#call(request, (client, QueueUrl, options) => client.purgeQueue({ QueueUrl }, options));
    this.#delayedUntil = -Infinity;
  }

  /** The id of an unheard receive with the same lease. */
  #takeUnheard(lease: Seconds): string | undefined {
    const now = this.caller.settings.clock.monotonic();
    const unheard = this.#unheard.filter(({ until }) => now < until);
    const taken = unheard.find((one) => one.lease === lease);
    this.#unheard = unheard.filter((one) => one !== taken);
    return taken?.attempt;
  }

  /** @param of the id of the attempt; replaced by another id if SQS no longer repeats its result */
  async #receive(
    { limit, lease, waits, signal }: Receive,
    of: { ReceiveRequestAttemptId?: string },
  ): Promise<readonly Message[]> {
    const request = { operation: 'ReceiveMessage', consequence: 'nothing was reserved', waits, signal };
    const input = {
      MaxNumberOfMessages: limit,
      VisibilityTimeout: lease,
      WaitTimeSeconds: waits ?? 0,
      MessageSystemAttributeNames: SYSTEM_ATTRIBUTES,
      MessageAttributeNames: ['All'],
    };
    const reply = await this.#call(request, async (client, QueueUrl, options) => {
      const ask = (): Promise<ReceiveMessageResult> => client.receiveMessage({ QueueUrl, ...input, ...of }, options);
      try {
        return await ask();
      } catch (error) {
        if (!isSpentAttempt(error)) throw error;
        of.ReceiveRequestAttemptId = randomUUID();
        return ask();
      }
    });
    return reply.Messages ?? [];
  }

  async #call<Output>(
    request: Asked,
    send: (client: SQS, url: string, options: Parameters<Send<unknown>>[1]) => Promise<Output>,
  ): Promise<Output> {
    const url = await this.#names.urlOf(this.name);
    return this.caller.call(this.#requestOf(request), (client, options) => send(client, url, options));
  }

  async #batches<Entry>(
    request: Asked,
    batch: Omit<BatchOf<Entry>, 'url' | 'send'>,
    send: BatchOf<Entry>['send'],
  ): Promise<readonly EntryResult[]> {
    if (batch.entries.length === 0) return [];
    const url = await this.#names.urlOf(this.name);
    return inBatches(this.caller, this.#requestOf(request), { ...batch, url, send });
  }

  #requestOf(request: Asked): Request {
    return { queue: this.name, repeatable: true, ...request };
  }
}

const FIFO = '.fifo';

/** The queue names that AWS allows. */
const NAME = /^[\w-]{1,75}(\.fifo|[\w-]{0,5})$/;

/** The URLs of further queues are asked for again. */
const MOST_URLS = 1000;

const URL_NAME = /^https?:\/\//;

/** The names of queues in SQS. A name with prefix and suffix is its URL; without a prefix SQS is asked for that. */
export class QueueNames {
  readonly #caller: SqsCaller;
  readonly #prefix: string | undefined;
  readonly #suffix: string;
  readonly #urls = new Recent<string, string>(MOST_URLS);

  constructor(caller: SqsCaller, { prefix, suffix = '' }: SqsConfig) {
    this.#caller = caller;
    this.#prefix = prefix?.replace(/\/$/, '');
    this.#suffix = suffix;
  }

  /** @throws E_INVALID_QUEUE_NAME, E_SQS_QUEUE_MISSING */
  async urlOf(queue: string): Promise<string> {
    const known = this.#urls.get(queue);
    if (known !== undefined) return known;
    const name = this.#fullName(queue);
    if (URL_NAME.test(name)) return name;
    if (!NAME.test(name)) {
      throw invalidQueueName(
        queue,
        `connection '${this.#caller.settings.name}'`,
        'SQS takes up to 80 letters, digits, - and _, and .fifo at the end of a FIFO queue',
      );
    }
    const url = this.#prefix === undefined ? await this.#askedFor(name) : `${this.#prefix}/${name}`;
    this.#urls.set(queue, url);
    return url;
  }

  isFifo(queue: string): boolean {
    return this.#fullName(queue).endsWith(FIFO);
  }

  /** All queues that match prefix and suffix. */
  async all(): Promise<readonly string[]> {
    const request = {
      operation: 'ListQueues',
      queue: '*',
      consequence: 'the queues were not listed',
      repeatable: true,
    };
    const names: string[] = [];
    let NextToken: string | undefined;
    do {
      const input = { MaxResults: 1000, ...(NextToken !== undefined && { NextToken }) };
      const page = await this.#caller.call(request, (client, options) => client.listQueues(input, options));
      for (const url of page.QueueUrls ?? []) names.push(...this.#ownName(url));
      ({ NextToken } = page);
    } while (NextToken !== undefined);
    return names;
  }

  /** `orders.fifo` with the suffix `-staging` is `orders-staging.fifo`, as in Laravel. */
  #fullName(queue: string): string {
    if (URL_NAME.test(queue)) return queue;
    return queue.endsWith(FIFO) ? `${queue.slice(0, -FIFO.length)}${this.#suffix}${FIFO}` : `${queue}${this.#suffix}`;
  }

  #ownName(url: string): readonly string[] {
    const at = url.lastIndexOf('/');
    if (this.#prefix !== undefined && url.slice(0, at) !== this.#prefix) return [];
    const name = url.slice(at + 1);
    const [base, end] = name.endsWith(FIFO) ? [name.slice(0, -FIFO.length), FIFO] : [name, ''];
    return base.endsWith(this.#suffix) ? [base.slice(0, base.length - this.#suffix.length) + end] : [];
  }

  async #askedFor(QueueName: string): Promise<string> {
    const consequence = 'its address was not found';
    const request = { operation: 'GetQueueUrl', queue: QueueName, consequence, repeatable: true };
    const { QueueUrl } = await this.#caller.call(request, (client, options) =>
      client.getQueueUrl({ QueueName }, options),
    );
    return QueueUrl ?? QueueName;
  }
}
