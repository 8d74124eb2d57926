/** Carries out many of one kind in batches of ten, and of a batch that succeeds in part repeats only what failed. */
import type { BatchResultErrorEntry } from '@aws-sdk/client-sqs';
import { toError } from '../../base/exception-text';
import { QueueUnavailableError } from '../errors';
import { type Request, SqsCaller } from './caller';
import { isThrottled } from './refusals';

/** What SQS takes at once. */
const MOST_ENTRIES = 10;

/** Batches of one call that are under way at once. */
const MOST_AT_ONCE = 10;

/** How one entry ended. `code`: what SQS refused it with; absent: the call failed as a whole. */
export type EntryResult =
  | { readonly done: true }
  | { readonly done: false; readonly code?: string | undefined; readonly error: Error };

export interface BatchReply {
  readonly Failed?: readonly BatchResultErrorEntry[] | undefined;
}

export interface BatchOf<Entry> {
  readonly request: Request;
  readonly entries: readonly Entry[];
  /** Bytes that an entry adds; absent: they do not count. */
  readonly sizeOf?: ((entry: Entry) => number) | undefined;
  /** Bytes of a batch at most. */
  readonly mostBytes?: number | undefined;
  /** One batch after another, and none after one that failed. */
  readonly inOrder?: boolean | undefined;
  readonly send: (entries: (Entry & { Id: string })[], signal: AbortSignal) => Promise<BatchReply>;
}

/** One result for each entry, in order. Never throws. */
export async function inBatches<Entry>(caller: SqsCaller, batch: BatchOf<Entry>): Promise<readonly EntryResult[]> {
  const results: EntryResult[] = [];
  const pages = [...pagesOf(batch)];
  let broken: EntryResult | undefined;
  while (pages.length > 0) {
    const round = pages.splice(0, batch.inOrder === true ? 1 : MOST_AT_ONCE);
    const ended = broken === undefined ? round.map((page) => carryOut(caller, batch, page)) : [];
    for (const page of await Promise.all(ended)) results.push(...page);
    if (broken !== undefined) for (const page of round) results.push(...page.map(() => broken!));
    else broken = breakIn(results, batch.inOrder === true);
  }
  return results;
}

/** What the entries behind are answered with: nobody sends them. */
function breakIn(results: readonly EntryResult[], inOrder: boolean): EntryResult | undefined {
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
  { request, send }: BatchOf<Entry>,
  page: readonly Entry[],
): Promise<readonly EntryResult[]> {
  const { clock, deadline } = caller.settings;
  const until = clock.monotonic() + deadline * 1000;
  const results: EntryResult[] = page.map(() => ({ done: true }));
  let left = page.map((entry, index) => ({ ...entry, Id: String(index) }));
  for (let attempt = 0; ; attempt += 1) {
    let failed: readonly BatchResultErrorEntry[];
    try {
      failed = (await caller.call(request, (signal) => send(left, signal))).Failed ?? [];
    } catch (error) {
      for (const { Id } of left) results[Number(Id)] = { done: false, error: toError(error) };
      return results;
    }
    for (const { Id } of left) results[Number(Id)] = { done: true };
    for (const { Id, Code = 'Error', Message = '' } of failed) {
      const error = caller.replyError(request, Code, Message);
      results[Number(Id)] = { done: false, code: Code.replace('AWS.SimpleQueueService.', ''), error };
    }
    const passing = new Set(failed.filter(isPassing).map(({ Id }) => Id));
    left = left.filter(({ Id }) => passing.has(Id));
    const pause = SqsCaller.pauseAfter(attempt);
    if (left.length === 0 || clock.monotonic() + pause >= until) return results;
    await caller.pause(pause);
  }
}

/** SQS says of each entry whose fault it was. */
function isPassing({ SenderFault, Code = '' }: BatchResultErrorEntry): boolean {
  return SenderFault !== true || isThrottled({ Code });
}

function* pagesOf<Entry>({ entries, sizeOf, mostBytes = Infinity }: BatchOf<Entry>): Generator<readonly Entry[]> {
  let page: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = sizeOf?.(entry) ?? 0;
    if (page.length === MOST_ENTRIES || (page.length > 0 && bytes + size > mostBytes)) {
      yield page;
      page = [];
      bytes = 0;
    }
    page.push(entry);
    bytes += size;
  }
  if (page.length > 0) yield page;
}
