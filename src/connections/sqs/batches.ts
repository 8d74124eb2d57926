/** Carries out many requests of one kind in batches of ten, and repeats only the entries that failed. */
import type { BatchResultErrorEntry, SQS } from '@aws-sdk/client-sqs';
import { toError } from '../../base/exception-text';
import { MOST_BYTES, pagesOf } from '../../base/pages';
import { QueueUnavailableError } from '../errors';
import type { Request, Send, SqsCaller } from './caller';
import { codeOf, isThrottled, verdictOn } from './refusals';

/** What SQS takes at once. */
const MOST_ENTRIES = 10;

/** Batches of one call that are under way at once. */
const MOST_AT_ONCE = 10;

/**
 * How one entry ended. `code`: what SQS refused it with; absent: the call failed as a whole. `again`: it was asked before, and
 * may have been done, unheard.
 */
export type EntryResult =
  | { readonly done: true }
  | { readonly done: false; readonly code?: string | undefined; readonly error: Error; readonly again?: boolean };

export interface BatchOf<Entry> {
  /** Of the queue. */
  readonly url: string;
  readonly entries: readonly Entry[];
  /** Bytes that an entry adds; absent: they do not count. */
  readonly sizeOf?: ((entry: Entry) => number) | undefined;
  /** Bytes of a batch at most. */
  readonly mostBytes?: number | undefined;
  /** One batch after another, and none after one that failed. */
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

/** The result of the entries that are not sent after a failure. Undefined: they are sent. */
function failureOfRest(results: readonly EntryResult[], inOrder: boolean): EntryResult | undefined {
  for (const result of results) {
    if (result.done) continue;
    const { error } = result;
    // It was asked until the deadline. Round after round, the last would wait for many times that.
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

/** SQS says of each entry whose fault it was. */
function isPassing({ SenderFault, Code = '' }: BatchResultErrorEntry): boolean {
  return SenderFault !== true || isThrottled({ Code });
}

/** The same as if all of the batch had failed for it: the rest is asked for again. */
function asThrown({ Code = 'Error', Message = '' }: BatchResultErrorEntry): Error {
  return Object.assign(new Error(Message), { Code, $metadata: { httpStatusCode: 503 } });
}
