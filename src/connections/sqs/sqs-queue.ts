/** One queue of SQS: the requests that concern it, in batches. */
import type { Message, MessageSystemAttributeName, QueueAttributeName, SQS } from '@aws-sdk/client-sqs';
import type { Milliseconds, Seconds } from '../../base/clock';
import type { Counts } from '../contract';
import { type BatchOf, type EntryResult, inBatches } from './batches';
import type { Request, Send, SqsCaller } from './caller';
import { type MessageEntry, sizeOf } from './message';
import type { QueueNames } from './queue-names';

/** So long after a change SQS may count what was before. */
const LAG: Seconds = 120;

const SYSTEM_ATTRIBUTES: MessageSystemAttributeName[] = ['ApproximateReceiveCount', 'SentTimestamp', 'MessageGroupId'];

export interface Receive {
  /** Up to 10. */
  readonly limit: number;
  readonly lease: Seconds;
  /** How long SQS waits for a message if there is none; it then asks all of its servers. */
  readonly waits?: Seconds | undefined;
  readonly signal?: AbortSignal | undefined;
}

export class SqsQueue {
  readonly name: string;
  readonly isFifo: boolean;
  readonly caller: SqsCaller;
  readonly #names: QueueNames;
  readonly #mostBytes: number;
  /** Until then this process has a job delayed that SQS may not count yet, by the monotonic clock. */
  #delayedUntil: Milliseconds = -Infinity;

  /** @param mostBytes of a batch */
  constructor(name: string, names: QueueNames, caller: SqsCaller, mostBytes: number) {
    this.name = name;
    this.isFifo = names.isFifo(name);
    this.caller = caller;
    this.#names = names;
    this.#mostBytes = mostBytes;
  }

  async receive({ limit, lease, waits, signal }: Receive): Promise<readonly Message[]> {
    // What a lost answer held is handed out again when its lease ends; to ask a second time takes no other risk.
    const request = { ...this.#request('ReceiveMessage', 'nothing was reserved'), waits, signal };
    const reply = await this.#call(request, (client, QueueUrl, options) =>
      client.receiveMessage(
        {
          QueueUrl,
          MaxNumberOfMessages: limit,
          VisibilityTimeout: lease,
          WaitTimeSeconds: waits ?? 0,
          MessageSystemAttributeNames: SYSTEM_ATTRIBUTES,
          MessageAttributeNames: ['All'],
        },
        options,
      ),
    );
    return reply.Messages ?? [];
  }

  /** One result for each, in order. What was sent and never answered is sent again only where SQS knows it again. */
  send(entries: readonly MessageEntry[]): Promise<readonly EntryResult[]> {
    for (const { DelaySeconds = 0 } of entries) this.noteDelay(DelaySeconds);
    const request = this.#request('SendMessageBatch', `${entries.length} jobs were not queued`, this.isFifo);
    return this.#batches({ request, entries, sizeOf, mostBytes: this.#mostBytes, inOrder: this.isFifo }, (QueueUrl) => {
      return (client, Entries, options) => client.sendMessageBatch({ QueueUrl, Entries }, options);
    });
  }

  delete(receipts: readonly string[]): Promise<readonly EntryResult[]> {
    const request = this.#request('DeleteMessageBatch', 'the outcomes of jobs were not recorded');
    const entries = receipts.map((ReceiptHandle) => ({ ReceiptHandle }));
    return this.#batches({ request, entries }, (QueueUrl) => {
      return (client, Entries, options) => client.deleteMessageBatch({ QueueUrl, Entries }, options);
    });
  }

  /** Hides each for so many seconds from now: a lease, or a release where that is 0 or a delay. */
  hide(
    held: readonly { readonly receipt: string; readonly seconds: Seconds }[],
    consequence: string,
  ): Promise<readonly EntryResult[]> {
    const request = this.#request('ChangeMessageVisibilityBatch', consequence);
    const entries = held.map(({ receipt, seconds }) => ({ ReceiptHandle: receipt, VisibilityTimeout: seconds }));
    return this.#batches({ request, entries }, (QueueUrl) => {
      return (client, Entries, options) => client.changeMessageVisibilityBatch({ QueueUrl, Entries }, options);
    });
  }

  /** About how many jobs it holds; one is delayed at least where this process has just delayed one. */
  async counts(): Promise<Counts> {
    const found = await this.attributes(`queue '${this.name}' was not counted`);
    return {
      ready: Number(found.ApproximateNumberOfMessages ?? 0),
      delayed: Math.max(Number(found.ApproximateNumberOfMessagesDelayed ?? 0), this.isDelaying ? 1 : 0),
      reserved: Number(found.ApproximateNumberOfMessagesNotVisible ?? 0),
    };
  }

  /** SQS may not count what this process has delayed. */
  get isDelaying(): boolean {
    return this.caller.settings.clock.monotonic() < this.#delayedUntil;
  }

  /** A job waits here for so long. */
  noteDelay(seconds: Seconds): void {
    const until = this.caller.settings.clock.monotonic() + Math.min(seconds, LAG) * 1000;
    if (seconds > 0) this.#delayedUntil = Math.max(this.#delayedUntil, until);
  }

  /** The queue's settings, and about how many messages it holds. */
  async attributes(consequence: string): Promise<Readonly<Partial<Record<QueueAttributeName, string>>>> {
    const reply = await this.#call(this.#request('GetQueueAttributes', consequence), (client, QueueUrl, options) =>
      client.getQueueAttributes({ QueueUrl, AttributeNames: ['All'] }, options),
    );
    return reply.Attributes ?? {};
  }

  async purge(): Promise<void> {
    await this.#call(this.#request('PurgeQueue', 'it was not cleared', false), (client, QueueUrl, options) =>
      client.purgeQueue({ QueueUrl }, options),
    );
    this.#delayedUntil = -Infinity;
  }

  #request(operation: string, consequence: string, repeatable = true): Request {
    return { operation, queue: this.name, consequence, repeatable };
  }

  async #call<Output>(
    request: Request,
    send: (client: SQS, url: string, options: Parameters<Send<unknown>>[1]) => Promise<Output>,
  ): Promise<Output> {
    const url = await this.#names.urlOf(this.name);
    return this.caller.call(request, (client, options) => send(client, url, options));
  }

  async #batches<Entry>(
    batch: Omit<BatchOf<Entry>, 'send'>,
    sendTo: (url: string) => BatchOf<Entry>['send'],
  ): Promise<readonly EntryResult[]> {
    if (batch.entries.length === 0) return [];
    return inBatches(this.caller, { ...batch, send: sendTo(await this.#names.urlOf(this.name)) });
  }
}
