/** One queue of SQS: the requests that concern it, in batches. */
import type { Message, MessageSystemAttributeName, QueueAttributeName } from '@aws-sdk/client-sqs';
import type { Milliseconds, Seconds } from '../../base/clock';
import type { Counts } from '../contract';
import { type BatchOf, type EntryResult, inBatches } from './batches';
import type { Request, SqsCaller } from './caller';
import { type MessageEntry, sizeOf } from './message';
import type { QueueNames } from './queue-names';

/** What SQS takes in one message, and in one batch. */
export const MOST_BYTES = 1024 * 1024;

/** So long after a change SQS may count what was before. */
const LAG: Seconds = 120;

const SYSTEM_ATTRIBUTES: MessageSystemAttributeName[] = ['ApproximateReceiveCount', 'SentTimestamp', 'MessageGroupId'];

export interface Receive {
  /** Up to 10. */
  readonly limit: number;
  readonly lease: Seconds;
  /** How long SQS waits for a message where there is none; it then asks all of its servers. */
  readonly waits?: Seconds | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Receipt {
  readonly ReceiptHandle: string;
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
    const { client, sdk } = this.caller.link;
    const QueueUrl = await this.#url();
    // What a lost answer held is handed out again when its lease ends; to ask a second time takes no other risk.
    const request = { ...this.#request('ReceiveMessage', 'nothing was reserved'), waits, signal };
    const reply = await this.caller.call(request, (abortSignal) =>
      client.send(
        new sdk.ReceiveMessageCommand({
          QueueUrl,
          MaxNumberOfMessages: limit,
          VisibilityTimeout: lease,
          WaitTimeSeconds: waits ?? 0,
          MessageSystemAttributeNames: SYSTEM_ATTRIBUTES,
          MessageAttributeNames: ['All'],
        }),
        { abortSignal },
      ),
    );
    return reply.Messages ?? [];
  }

  /** One result for each, in order. What was sent and never answered is sent again only where SQS knows it again. */
  async send(entries: readonly MessageEntry[]): Promise<readonly EntryResult[]> {
    const request = {
      ...this.#request('SendMessageBatch', `${entries.length} jobs were not queued`),
      repeatable: this.isFifo,
    };
    for (const { DelaySeconds = 0 } of entries) this.noteDelay(DelaySeconds);
    return this.#batches({
      request,
      entries,
      sizeOf,
      mostBytes: this.#mostBytes,
      inOrder: this.isFifo,
      send: (QueueUrl, Entries, abortSignal) => {
        const { client, sdk } = this.caller.link;
        return client.send(new sdk.SendMessageBatchCommand({ QueueUrl, Entries }), { abortSignal });
      },
    });
  }

  async delete(receipts: readonly string[]): Promise<readonly EntryResult[]> {
    return this.#batches<Receipt>({
      request: this.#request('DeleteMessageBatch', 'the outcomes of jobs were not recorded'),
      entries: receipts.map((ReceiptHandle) => ({ ReceiptHandle })),
      send: (QueueUrl, Entries, abortSignal) => {
        const { client, sdk } = this.caller.link;
        return client.send(new sdk.DeleteMessageBatchCommand({ QueueUrl, Entries }), { abortSignal });
      },
    });
  }

  /** Hides each for so many seconds from now: a lease, or a release where that is 0 or a delay. */
  async hide(
    held: readonly { readonly receipt: string; readonly seconds: Seconds }[],
    consequence: string,
  ): Promise<readonly EntryResult[]> {
    return this.#batches<Receipt & { readonly VisibilityTimeout: Seconds }>({
      request: this.#request('ChangeMessageVisibilityBatch', consequence),
      entries: held.map(({ receipt, seconds }) => ({ ReceiptHandle: receipt, VisibilityTimeout: seconds })),
      send: (QueueUrl, Entries, abortSignal) => {
        const { client, sdk } = this.caller.link;
        return client.send(new sdk.ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries }), { abortSignal });
      },
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
    const { client, sdk } = this.caller.link;
    const QueueUrl = await this.#url();
    const reply = await this.caller.call(this.#request('GetQueueAttributes', consequence), (abortSignal) =>
      client.send(new sdk.GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }), { abortSignal }),
    );
    return reply.Attributes ?? {};
  }

  async purge(): Promise<void> {
    const { client, sdk } = this.caller.link;
    const QueueUrl = await this.#url();
    const request = { ...this.#request('PurgeQueue', 'it was not cleared'), repeatable: false };
    await this.caller.call(request, (abortSignal) =>
      client.send(new sdk.PurgeQueueCommand({ QueueUrl }), { abortSignal }),
    );
    this.#delayedUntil = -Infinity;
  }

  async #batches<Entry>(
    batch: Omit<BatchOf<Entry>, 'send'> & {
      readonly send: (url: string, ...rest: Parameters<BatchOf<Entry>['send']>) => ReturnType<BatchOf<Entry>['send']>;
    },
  ): Promise<readonly EntryResult[]> {
    if (batch.entries.length === 0) return [];
    const url = await this.#url();
    return inBatches(this.caller, { ...batch, send: (entries, signal) => batch.send(url, entries, signal) });
  }

  #request(operation: string, consequence: string): Request {
    return { operation, queue: this.name, consequence, repeatable: true };
  }

  #url(): Promise<string> {
    return this.#names.urlOf(this.name);
  }
}
