/** Carries out many requests of one kind in batches of ten, and repeats only the entries that failed. */
import type { BatchResultErrorEntry, SQS } from '@aws-sdk/client-sqs';
import { toError } from '../../base/exception-text';
import { MOST_BYTES, pagesOf } from '../../base/collections';
import { QueueUnavailableError } from '../errors';
import type { Request, Send, SqsCaller } from './caller';
import { codeOf, isThrottled, verdictOn } from './refusals';

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
