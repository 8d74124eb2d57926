/** Sends jobs to one queue. Jobs dispatched in one turn of the event loop go together, because SQS bills each request. */
import { createHash } from 'node:crypto';
import type { SqsConfig, SqsPayload } from './driver';
import { endOfTurn } from '../../base/clock';
import { countersIn, fenceOf } from '../../payload/counters';
import { uuidv7 } from '../../payload/uuid';
import type { Entry } from '../contract';
import { PayloadTooLargeError, QueueUnavailableError } from '../errors';
import { Lane } from '../kit/lane';
import { sqsFifoDelay, sqsPartialPush } from './errors';
import { entryOf, sizeOf, type MessageEntry } from './message';
import type { SqsQueue } from './queue';
import { fieldsIn } from '../../payload/values';
import type { BatchResultErrorEntry, SQS } from '@aws-sdk/client-sqs';
import { toError } from '../../base/exception-text';
import { MOST_BYTES, pagesOf } from '../../base/collections';
import { codeOf, isThrottled, verdictOn, type Request, type Send, type SqsCaller } from './caller';

/** Bytes kept free in each message: a released job has longer counters. */
const GROWTH = 1024;

/** How SQS says that a message is larger than its queue takes. */
const SHORTER_THAN = /shorter than (\d+) bytes/;

interface Push {
  readonly messages: readonly MessageEntry[];
  readonly resolve: (results: readonly EntryResult[]) => void;
  readonly reject: (error: unknown) => void;
}

export class Outbox {
  readonly #connection: string;
  readonly #queue: SqsQueue;
  readonly #config: SqsConfig;
  /** Most bytes of a payload. */
  readonly #limit: number;
  readonly lane: Lane<Push>;

  /** @param room most bytes of a message */
  constructor(connection: string, queue: SqsQueue, config: SqsConfig, room: number) {
    this.#connection = connection;
    this.#queue = queue;
    this.#config = config;
    this.#limit = room - GROWTH;
    this.lane = new Lane({
      carry: (pushes) => this.#send(pushes),
      gather: endOfTurn,
      // On a FIFO queue later jobs must not overtake those under way.
      atOnce: queue.isFifo ? 1 : Infinity,
    });
  }

  async push(entries: readonly Entry[]): Promise<void> {
    if (entries.length === 0) return;
    const messages = entries.map((entry) => this.#message(entry));
    const results = await new Promise<readonly EntryResult[]>((resolve, reject) => {
      this.lane.send({ messages, resolve, reject });
    });
    const refused = results.flatMap((result, index) =>
      result.done ? [] : [{ index, error: this.#errorOf(result.error, messages[index]!) }],
    );
    if (refused.length === 0) return;
    // If one of the errors leaves a doubt, it is the one to report: jobs that may be queued must not be sent elsewhere as
    // well.
    const { error } = refused.find((one) => isUncertain(one.error)) ?? refused[0]!;
    if (refused.length === entries.length) throw error;
    const indexes = refused.map(({ index }) => index);
    throw sqsPartialPush(this.#connection, this.#queue.name, entries.length, indexes, error);
  }

  async #send(pushes: readonly Push[]): Promise<void> {
    const results = await this.#queue.send(pushes.flatMap(({ messages }) => messages));
    let start = 0;
    for (const { messages, resolve } of pushes) resolve(results.slice(start, (start += messages.length)));
  }

  #message({ payload, delay = 0 }: Entry): MessageEntry {
    const { name, isFifo } = this.#queue;
    const { group: groupOf, deduplicate } = this.#config;
    if (isFifo && delay > 0) throw sqsFifoDelay(this.#connection, name);
    const fields = groupOf === undefined && deduplicate === undefined ? {} : (fieldsIn(payload) ?? {});
    const group = groupOf?.(fields) ?? (isFifo ? name : undefined);
    const deduplication = isFifo ? this.#deduplication(payload, fields) : undefined;
    const entry = entryOf({
      payload,
      delay: Math.max(delay, 0),
      group: group === undefined ? group : lettersOf(group),
      deduplication,
    });
    const size = sizeOf(entry);
    if (size > this.#limit) throw new PayloadTooLargeError('The job', this.#connection, size, this.#limit);
    return entry;
  }

  // Unless the user says otherwise each push is a separate job, and a push repeated because no answer came is the same one.
  // With the user's key, a retried failed job would be taken for the first job with that key, and be lost.
  #deduplication(payload: string, fields: SqsPayload): string {
    const text = Buffer.from(payload);
    const counters = countersIn(text);
    const isFirst = counters === undefined || fenceOf(counters) === 0;
    const key = isFirst ? this.#config.deduplicate?.(fields) : undefined;
    return key === undefined ? uuidv7() : lettersOf(key);
  }

  #errorOf(error: Error, message: MessageEntry): Error {
    const limit = SHORTER_THAN.exec(error.message)?.[1];
    if (limit === undefined) return error;
    return new PayloadTooLargeError('The job', this.#connection, sizeOf(message), Number(limit));
  }
}

function isUncertain(error: Error): boolean {
  return error instanceof QueueUnavailableError && error.facts.uncertain === true;
}

/** AWS takes 128 ASCII characters without spaces; anything else becomes a digest. A field of a payload may be no text. */
function lettersOf(key: unknown): string {
  const text = typeof key === 'string' ? key : JSON.stringify(key);
  return /^[!-~]{1,128}$/.test(text) ? text : createHash('sha256').update(text).digest('hex');
}

/** Most entries that SQS takes at once. */
const MOST_ENTRIES = 10;

/** Most batches of one call under way at once. */
const MOST_AT_ONCE = 10;

/**
 * How one entry ended. `code`: SQS's refusal; absent: the call failed as a whole. `again`: it was asked before, and may have
 * been carried out without our hearing it.
 */
export type EntryResult =
  | { readonly done: true }
  | { readonly done: false; readonly code?: string | undefined; readonly error: Error; readonly again?: boolean };

export interface BatchOf<Entry> {
  readonly url: string;
  readonly entries: readonly Entry[];
  /** Bytes that an entry adds; absent: size does not matter. */
  readonly sizeOf?: ((entry: Entry) => number) | undefined;
  /** Most bytes of a batch. */
  readonly mostBytes?: number | undefined;
  /** Send one batch after another, and none after one that failed. */
  readonly inOrder?: boolean | undefined;
  readonly send: (
    client: SQS,
    input: { readonly QueueUrl: string; readonly Entries: (Entry & { Id: string })[] },
    options: Parameters<Send<unknown>>[1],
  ) => Promise<{ readonly Failed?: readonly BatchResultErrorEntry[] | undefined }>;
}

/** One result for each entry, in order. Never throws. */
export async function inBatches<Entry>(
  caller: SqsCaller,
  request: Request,
  batch: BatchOf<Entry>,
): Promise<readonly EntryResult[]> {
  const { entries, sizeOf = () => 0, mostBytes = MOST_BYTES, inOrder = false } = batch;
  const results: EntryResult[] = [];
  const pages = [...pagesOf(entries, sizeOf, MOST_ENTRIES, mostBytes)];
  while (pages.length > 0) {
    const round = pages.splice(0, inOrder ? 1 : MOST_AT_ONCE);
    for (const ended of await Promise.all(round.map((page) => carryOut(caller, request, batch, page))))
      results.push(...ended);
    const failure = failureOfRest(results, inOrder);
    if (failure !== undefined) return entries.map((_, index) => results[index] ?? failure);
  }
  return results;
}

/** The result of the entries that are not sent after a failure. Undefined if they are sent. */
function failureOfRest(results: readonly EntryResult[], inOrder: boolean): EntryResult | undefined {
  for (const result of results) {
    if (result.done) continue;
    const { error } = result;
    // The call was repeated until the deadline. Round after round, the last entries would wait many times that.
    if (error instanceof QueueUnavailableError && error.facts.deadline !== undefined) {
      const { facts, cause } = error;
      return { done: false, error: new QueueUnavailableError({ ...facts, uncertain: false }, { cause }) };
    }
    if (inOrder) return result;
  }
  return undefined;
}

async function carryOut<Entry>(
  caller: SqsCaller,
  request: Request,
  { url, send }: BatchOf<Entry>,
  page: readonly Entry[],
): Promise<readonly EntryResult[]> {
  const results: EntryResult[] = page.map(() => ({ done: true }));
  let left = page.map((entry, index) => ({ ...entry, Id: String(index) }));
  let isUnheard = false;
  try {
    await caller.call(request, async (client, options) => {
      const again = isUnheard;
      isUnheard = true;
      const { Failed = [] } = await send(client, { QueueUrl: url, Entries: left }, options).catch((error: unknown) => {
        if (verdictOn(error) !== 'lost') isUnheard = again;
        throw error;
      });
      isUnheard = false;
      const passing = Failed.filter(isPassing);
      for (const failed of Failed) {
        const code = codeOf({ Code: failed.Code ?? 'Error' });
        const error = caller.replyError(request, code, failed.Message ?? '');
        results[Number(failed.Id)] = { done: false, code, error, again };
      }
      left = left.filter(({ Id }) => passing.some((failed) => failed.Id === Id));
      for (const { Id } of left) results[Number(Id)] = { done: true };
      if (passing.length > 0) throw asThrown(passing[0]!);
    });
  } catch (error) {
    for (const { Id } of left) results[Number(Id)] = { done: false, error: toError(error) };
  }
  return results;
}

/** SQS says for each entry whose fault it was. */
function isPassing({ SenderFault, Code = '' }: BatchResultErrorEntry): boolean {
  return SenderFault !== true || isThrottled({ Code });
}

/** An error as if the whole batch had failed with it, so that the rest is sent again. */
function asThrown({ Code = 'Error', Message = '' }: BatchResultErrorEntry): Error {
  return Object.assign(new Error(Message), { Code, $metadata: { httpStatusCode: 503 } });
}
