/** The `sqs` driver: payloads as messages of Amazon SQS, in standard and FIFO queues, through the AWS SDK. */
import { ALL_CAPABLE } from '../kit/all-capable';
import { createHash } from 'node:crypto';
import type { Clock, Milliseconds, Seconds } from '../../base/clock';
import { fenceOf, readCounters, readCountersOfAny } from '../../payload/counters';
import { uuidv7 } from '../../payload/uuid';
import type { JobRegistry } from '../../job/registry';
import type { SqsConfig, SqsPayload } from '../../application/configuration/configuration';
import type {
  Capabilities,
  Connection,
  Counts,
  Diagnosis,
  Entry,
  PeekedJob,
  RenewResult,
  Reservation,
  ReserveReply,
  ReserveRequest,
  Settlement,
  SettleResult,
  ThreadAccess,
  Waiter,
} from '../contract';
import { PayloadTooLargeError } from '../../application/errors';
import { Recent } from '../../base/recent';
import { threadModule } from '../../base/thread-module';
import { CapabilityError, ConnectionClosedError, QueueUnavailableError } from '../errors';
import { OpenWaiters } from '../kit/open-waiters';
import type { EntryResult } from './batches';
import { SqsCaller } from './caller';
import { addressOf, openLink } from './client';
import { diagnoseSqs } from './diagnose';
import { SqsFifoDelayError, SqsPartialPushError, SqsPurgeInProgressError, SqsReplyError } from './errors';
import { Holding, sharedNow } from './holding';
import { Inbox } from './inbox';
import { entryOf, type MessageEntry, sizeOf } from './message';
import { Outcomes } from './outcomes';
import { PushLane } from './push-lane';
import { QueueNames } from './queue-names';
import { isLostReceipt, isPurging } from './refusals';
import { MOST_BYTES, SqsQueue } from './sqs-queue';
import { SqsWaiter } from './sqs-waiter';
import type { ThreadData } from './thread-store';

/** Kept free in each message: what goes back bears longer counters than what came. */
const GROWTH = 1024;

/** How SQS says that a message is larger than its queue takes. */
const SHORTER_THAN = /shorter than (\d+) bytes/;

const CAPABILITIES: Capabilities = {
  ...ALL_CAPABLE,
  moments: false,
  exactCounts: false,
  // Those of a FIFO queue keep one, group by group.
  order: false,
  requeue: false,
  peek: false,
  failed: false,
  locks: false,
  control: false,
};

export interface SqsContext {
  /** The connection's name in the configuration. */
  readonly name: string;
  readonly clock: Clock;
  /** How long a call waits for an answer. */
  readonly deadline: Seconds;
  /** The lease of what a long poll brings. */
  readonly retryAfter: Seconds;
  /** Bytes of a payload that are not refused. */
  readonly maxPayload: number;
  /** The queue that is meant where none is named. */
  readonly queue: string;
  readonly origin?: string | undefined;
  /** Absent in a thread, which is never asked for a diagnosis. */
  readonly manager?: { readonly registry: JobRegistry } | undefined;
}

/** What of a queue this connection has: where jobs go in, and where they come out. */
interface QueueEnds {
  readonly queue: SqsQueue;
  readonly lane: PushLane;
  readonly inbox: Inbox;
}

/** Those of others are made anew. */
const MOST_QUEUES = 1000;

const isIdle = ({ queue, lane, inbox }: QueueEnds): boolean => lane.isIdle && inbox.isIdle && !queue.isDelaying;

export class SqsConnection implements Connection {
  readonly name: string;
  readonly driver = 'sqs';
  readonly address: string;
  readonly capabilities = CAPABILITIES;
  readonly #config: SqsConfig;
  readonly #context: SqsContext;
  readonly #clock: Clock;
  readonly #caller: SqsCaller;
  readonly #names: QueueNames;
  readonly #queues = new Recent<string, QueueEnds>(MOST_QUEUES, isIdle);
  readonly #outcomes: Outcomes;
  readonly #waiters = new OpenWaiters();
  /** Bytes of a message at most. */
  readonly #room: number;
  #closing: Promise<void> | undefined;

  /** @throws MissingPeerError */
  constructor(config: SqsConfig, context: SqsContext) {
    const { name, clock } = context;
    this.name = name;
    this.address = addressOf(config);
    this.#config = config;
    this.#context = context;
    this.#clock = clock;
    this.#room = Math.min(context.maxPayload, MOST_BYTES);
    this.#caller = new SqsCaller(openLink(name, config), { ...context, address: this.address });
    this.#names = new QueueNames(this.#caller, config);
    this.#outcomes = new Outcomes(name, clock, (queue) => this.#queue(queue));
  }

  get threadAccess(): ThreadAccess | undefined {
    const { name, deadline, retryAfter, maxPayload, queue, origin } = this.#context;
    // Group and deduplication are known of what was received.
    const { group: _, deduplicate: __, ...config } = this.#config;
    const data: ThreadData = { name, deadline, retryAfter, maxPayload, queue, origin, config };
    try {
      return { module: threadModule('connections/sqs/thread-store'), data: structuredClone(data) };
    } catch {
      // A function gives the credentials, or an instance makes the requests.
      return undefined;
    }
  }

  async push(queue: string, entries: readonly Entry[]): Promise<void> {
    this.#checkOpen('push');
    if (entries.length === 0) return;
    const messages = entries.map((entry) => this.#message(queue, entry));
    const results = await this.#ends(queue).lane.push(messages);
    const refused = results.flatMap(({ done }, index) => (done ? [] : [index]));
    const [first] = refused;
    if (first === undefined) return;
    // Of several reasons the one that leaves a doubt: what may be there must not be sent elsewhere as well.
    const told = refused.find((index) => isUncertain(results[index]!)) ?? first;
    const cause = this.#pushError(results[told]!, messages[told]!);
    if (refused.length === entries.length) throw cause;
    throw new SqsPartialPushError(this.name, queue, entries.length, refused, { cause });
  }

  async reserve({ queues, limit, lease }: ReserveRequest): Promise<ReserveReply> {
    this.#checkOpen('reserve');
    const reservations: Reservation[] = [];
    let failure: { readonly error: unknown } | undefined;
    for (const name of queues) {
      if (reservations.length >= limit) break;
      const { inbox } = this.#ends(name);
      try {
        await inbox.fill(limit - reservations.length, lease);
      } catch (error) {
        failure ??= { error };
      }
      while (reservations.length < limit) {
        const next = inbox.take();
        if (next === undefined) break;
        reservations.push(next);
      }
    }
    // What was handed out must reach the worker; the next reserve meets the same trouble.
    if (failure !== undefined && reservations.length === 0) throw failure.error;
    const nextIn = reservations.length >= limit ? 0 : Infinity;
    return { reservations, setAside: [], nextIn, now: this.#caller.link.time.now() };
  }

  async settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
    this.#checkOpen('settle');
    return this.#outcomes.settle(settlements);
  }

  async renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    this.#checkOpen('renew');
    const results = new Map<Reservation, RenewResult>();
    for (const name of new Set(reservations.map(({ queue }) => queue))) {
      const now = sharedNow(this.#clock);
      const held = reservations.flatMap((reservation) => {
        const holding = reservation.queue === name ? Holding.of(reservation) : undefined;
        const seconds = holding?.isOurs(now) === true ? holding.hideable(lease, now) : 0;
        return seconds > 0 ? [{ reservation, holding: holding!, receipt: holding!.token.receipt, seconds }] : [];
      });
      const hidden = await this.#queue(name).hide(held, `the leases of ${held.length} jobs were not renewed`);
      held.forEach(({ reservation, holding, seconds }, index) => {
        const result = hidden[index]!;
        if (result.done) holding.leaseUntil(now + seconds * 1000);
        else if (result.code === undefined || !isLostReceipt(result.code)) throw result.error;
        results.set(reservation, result.done ? 'renewed' : 'lost');
      });
    }
    return reservations.map((reservation) => results.get(reservation) ?? 'lost');
  }

  async counts(queue: string): Promise<Counts> {
    this.#checkOpen('counts');
    return this.#queue(queue).counts();
  }

  /** About how many: SQS counts by estimate. */
  async clear(queue: string): Promise<number> {
    this.#checkOpen('clear');
    const sqsQueue = this.#queue(queue);
    const { ready, delayed, reserved } = await sqsQueue.counts();
    try {
      await sqsQueue.purge();
    } catch (error) {
      if (!(error instanceof SqsReplyError) || !isPurging(error.facts.reply)) throw error;
      throw new SqsPurgeInProgressError(this.name, queue, { cause: error });
    }
    return ready + delayed + reserved;
  }

  async peek(): Promise<readonly PeekedJob[]> {
    this.#checkOpen('peek');
    throw new CapabilityError(this.name, this.driver, 'peek');
  }

  /** Those that there are under prefix and suffix, used or not. */
  async queues(): Promise<readonly string[]> {
    this.#checkOpen('queues');
    return this.#names.all();
  }

  /** As the head of an answer said, to the second. Who may not ask for one goes by our own clock. */
  async now(): Promise<Milliseconds> {
    this.#checkOpen('now');
    const { time } = this.#caller.link;
    return time.current(async () => {
      await this.#queue(this.#context.queue)
        .counts()
        .catch(() => undefined);
      return time.now();
    });
  }

  waiter(queues: readonly string[]): Waiter {
    this.#checkOpen('waiter');
    const inboxes = [...new Set(queues)].map((queue) => this.#ends(queue).inbox);
    return this.#waiters.add(new SqsWaiter(this.name, this.#clock, inboxes));
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.#checkOpen('diagnose');
    const queues = [...new Set([this.#context.queue, ...this.#queues.keys()])].map((name) => this.#queue(name));
    return diagnoseSqs(queues, { room: this.#room, registry: this.#context.manager?.registry });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#waiters.close();
    await Promise.all([...this.#queues.values()].map(({ inbox }) => inbox.close()));
    await Promise.all([...this.#queues.values()].map(({ lane }) => lane.sent));
    await this.#caller.idle(this.#context.deadline * 1000);
    this.#caller.link.client.destroy();
  }

  #queue(name: string): SqsQueue {
    return this.#ends(name).queue;
  }

  #ends(name: string): QueueEnds {
    let ends = this.#queues.get(name);
    if (ends === undefined) {
      const queue = new SqsQueue(name, this.#names, this.#caller, this.#room);
      ends = { queue, lane: new PushLane(queue), inbox: new Inbox(queue, this.#clock, this.#context.retryAfter) };
      this.#queues.set(name, ends);
    }
    return ends;
  }

  #message(queue: string, { payload, delay = 0 }: Entry): MessageEntry {
    const isFifo = this.#names.isFifo(queue);
    if (isFifo && delay > 0) throw new SqsFifoDelayError(this.name, queue);
    const fields = this.#config.group === undefined && this.#config.deduplicate === undefined ? {} : fieldsOf(payload);
    const group = this.#config.group?.(fields) ?? (isFifo ? queue : undefined);
    const deduplication = isFifo ? this.#deduplication(payload, fields) : undefined;
    const entry = entryOf({ payload, delay: Math.max(delay, 0), group: group && lettersOf(group), deduplication });
    const size = sizeOf(entry);
    if (size > this.#room - GROWTH) throw new PayloadTooLargeError('The job', this.name, size, this.#room - GROWTH);
    return entry;
  }

  // Where nothing says otherwise, each push is a job of its own, and what is asked for twice for want of an answer is one. A
  // failed job that is retried would be taken for the first of its key, and lost.
  #deduplication(payload: string, fields: SqsPayload): string {
    const text = Buffer.from(payload);
    const counters = readCounters(text)?.counters ?? readCountersOfAny(text);
    const isFirst = counters === undefined || fenceOf(counters) === 0;
    const key = isFirst ? this.#config.deduplicate?.(fields) : undefined;
    return key === undefined ? uuidv7() : lettersOf(key);
  }

  #pushError(result: EntryResult, message: MessageEntry): Error {
    if (result.done) throw new TypeError('it was pushed');
    const limit = SHORTER_THAN.exec(result.error.message)?.[1];
    if (limit === undefined) return result.error;
    return new PayloadTooLargeError('The job', this.name, sizeOf(message), Number(limit));
  }

  #checkOpen(operation: string): void {
    if (this.#closing !== undefined) throw new ConnectionClosedError(this.name, operation);
  }
}

/** Connects with the first call, not before. @throws MissingPeerError */
export function connectSqs(config: SqsConfig, context: SqsContext): SqsConnection {
  return new SqsConnection(config, context);
}

function isUncertain(result: EntryResult): boolean {
  return !result.done && result.error instanceof QueueUnavailableError && result.error.facts.uncertain === true;
}

function fieldsOf(payload: string): SqsPayload {
  try {
    const parsed: unknown = JSON.parse(payload);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as SqsPayload) : {};
  } catch {
    return {};
  }
}

/** AWS takes 128 characters of ASCII without spaces; of anything else, a digest. */
function lettersOf(key: string): string {
  return /^[!-~]{1,128}$/.test(key) ? key : createHash('sha256').update(key).digest('hex');
}
