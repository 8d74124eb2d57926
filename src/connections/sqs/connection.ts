/** The `sqs` driver: payloads as messages of Amazon SQS, in standard and FIFO queues, through the AWS SDK. */
import { SQS, type SqsConfig } from './driver';
import { systemClock, type Milliseconds, type Seconds } from '../../base/clock';
import { groupsOf, MOST_BYTES, Recent } from '../../base/collections';
import { toError } from '../../base/exception-text';
import { threadModule } from '../../base/environment';
import type { JobRegistry } from '../../job/registry';
import type { ConnectorContext } from '../driver';
import type {
  Connection,
  Diagnosis,
  Entry,
  RenewResult,
  Reservation,
  ReserveReply,
  Settled,
  Settlement,
  SettleResult,
  ThreadAccess,
  Wanted,
  Queues,
  StoreThread,
} from '../contract';
import { NOTHING, settledThen, Settling, StoreConnection, Waits, type Listening } from '../kit/connection';
import { SqsCaller, addressOf, openLink } from './caller';
import { diagnoseSqs } from './diagnose';
import { sqsPurgeInProgress, sqsReply } from './errors';
import { sharedNow } from './message';
import { Inbox } from './inbox';
import { Outbox } from './outbox';
import { QueueNames, SqsQueue } from './queue';
import { renew, settle } from './settle';

export interface SqsContext extends Pick<
  ConnectorContext,
  'name' | 'clock' | 'deadline' | 'retryAfter' | 'maxPayload' | 'queue'
> {
  readonly origin?: string | undefined;
  /** Absent in a thread, which is never asked for a diagnosis. */
  readonly manager?: { readonly registry: JobRegistry } | undefined;
}

/** The two ends of a queue: where jobs go in, and where they come out. */
interface QueueEnds {
  readonly queue: SqsQueue;
  readonly outbox: Outbox;
  readonly inbox: Inbox;
}

/** The ends of further queues are created again. */
const MOST_QUEUES = 1000;

/** A FIFO queue is not polled: somebody has to look at it. */
const LONGEST_FIFO_WAIT: Seconds = 2;

const isIdle = ({ queue, outbox, inbox }: QueueEnds): boolean =>
  outbox.lane.isIdle && inbox.isIdle && !queue.isDelaying;

/** Connects only with the first call. */
export class SqsConnection extends StoreConnection implements Connection {
  readonly driver = 'sqs';
  readonly address: string;
  readonly capabilities = SQS.capabilities;
  readonly #config: SqsConfig;
  readonly #context: SqsContext;
  readonly #caller: SqsCaller;
  readonly #names: QueueNames;
  readonly #used = new Recent<string, QueueEnds>(MOST_QUEUES, isIdle);
  readonly #waits: Waits;
  readonly #settling = new Settling(() => 0);
  /** Most bytes of a message. */
  readonly #room: number;

  /** @throws E_MISSING_PEER */
  constructor(config: SqsConfig, context: SqsContext) {
    super(context.name);
    this.address = addressOf(config);
    this.#config = config;
    this.#context = context;
    this.#room = Math.min(context.maxPayload, MOST_BYTES);
    this.#caller = new SqsCaller(openLink(context.name, config), { ...context, address: this.address });
    this.#names = new QueueNames(this.#caller, config);
    this.#waits = new Waits(context.clock);
  }

  get threadAccess(): ThreadAccess | undefined {
    const { name, deadline, retryAfter, maxPayload, queue, origin } = this.#context;
    // A received job already has its group.
    const { group: _, deduplicate: __, ...config } = this.#config;
    const data: ThreadData = { name, deadline, retryAfter, maxPayload, queue, origin, config };
    try {
      return { module: threadModule('connections/sqs/connection'), data: structuredClone(data) };
    } catch {
      // A function provides the credentials, or an instance makes the requests.
      return undefined;
    }
  }

  async push(queue: string, entries: readonly Entry[]): Promise<void> {
    this.checkOpen('push');
    return this.#ends(queue).outbox.push(entries);
  }

  async exchange(settlements: readonly Settlement[], wanted?: Wanted): Promise<Settled> {
    this.checkOpen('exchange');
    const results = settlements.length === 0 ? [] : await this.#settle(settlements);
    if (wanted === undefined) return { ...NOTHING, results };
    const listening = this.#listening(wanted.queues);
    return settledThen(results, () => this.#waits.reserve(wanted, listening, () => this.#reserve(wanted)));
  }

  async #reserve({ queues, limit, lease }: Wanted): Promise<ReserveReply> {
    const reservations: Reservation[] = [];
    let failure: Error | undefined;
    for (const name of queues) {
      if (reservations.length >= limit) break;
      try {
        reservations.push(...(await this.#ends(name).inbox.take(limit - reservations.length, lease)));
      } catch (error) {
        failure ??= toError(error);
      }
    }
    // Jobs that were handed out must reach the worker. The next reserve meets the same trouble.
    if (failure !== undefined && reservations.length === 0) throw failure;
    const nextIn = reservations.length >= limit ? 0 : Infinity;
    return { reservations, setAside: [], nextIn, now: this.#caller.link.time.now() };
  }

  async #settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
    // Once it is in the failed store of another connection, it is completed here.
    if (settlements.some(({ outcome }) => outcome === 'failed')) throw this.lacks('failed');
    const { results } = await this.#settling.inPages(settlements, async (page) => {
      const ended = await settle(page, (queue) => this.#ends(queue).queue, sharedNow(this.#context.clock));
      if (ended.error === undefined) return { ...NOTHING, results: ended.results as readonly SettleResult[] };
      this.#settling.remember(page, ended.results);
      throw ended.error;
    });
    return results;
  }

  async renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    this.checkOpen('renew');
    const now = sharedNow(this.#context.clock);
    const results = new Map<Reservation, RenewResult>();
    for (const [name, own] of groupsOf(reservations, ({ queue }) => queue)) {
      const renewed = await renew(this.#ends(name).queue, own, lease, now);
      own.forEach((reservation, index) => results.set(reservation, renewed[index]!));
    }
    return reservations.map((reservation) => results.get(reservation)!);
  }

  readonly queues: Queues = this.whileOpen('queues', {
    /** All queues that match prefix and suffix, used or not. */
    names: () => this.#names.all(),
    counts: (queue) => this.#ends(queue).queue.counts(),
    clear: (queue) => this.#clear(queue),
  });

  /** Returns about how many: SQS only estimates counts. */
  async #clear(name: string): Promise<number> {
    const { queue } = this.#ends(name);
    const { ready, delayed, reserved } = await queue.counts();
    try {
      await queue.purge();
    } catch (error) {
      if (!sqsReply.is(error) || !error.facts.reply.includes('PurgeQueueInProgress')) throw error;
      throw sqsPurgeInProgress(this.name, name, error);
    }
    return ready + delayed + reserved;
  }

  /** As the header of an answer says, to the second. Without an answer our own clock counts. */
  async now(): Promise<Milliseconds> {
    this.checkOpen('now');
    const { time } = this.#caller.link;
    return time.current(async () => {
      await this.queues.counts(this.#context.queue).catch(() => undefined);
      return time.now();
    });
  }

  #listening(queues: readonly string[]): Listening {
    const inboxes = [...new Set(queues)].map((queue) => this.#ends(queue).inbox);
    return {
      longest: inboxes.some(({ queue }) => queue.isFifo) ? LONGEST_FIFO_WAIT : Infinity,
      listen: (wake) => {
        const leaving = inboxes.map((inbox) => inbox.listen(wake));
        return () => {
          for (const leave of leaving) leave();
        };
      },
    };
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.checkOpen('diagnose');
    const names = new Set([this.#context.queue, ...this.#used.keys()]);
    const queues = [...names].map((name) => this.#ends(name).queue);
    return diagnoseSqs(queues, { room: this.#room, registry: this.#context.manager?.registry });
  }

  protected async end(): Promise<void> {
    const queues = [...this.#used.values()];
    this.#waits.close();
    await Promise.all(queues.map(({ inbox }) => inbox.close()));
    await Promise.all(queues.map(({ outbox }) => outbox.lane.settled));
    await this.#caller.idle();
    this.#caller.link.client.destroy();
  }

  #ends(name: string): QueueEnds {
    return this.#used.ensure(name, () => {
      const { clock, retryAfter } = this.#context;
      const queue = new SqsQueue(name, this.#names, this.#caller, this.#room);
      const outbox = new Outbox(this.name, queue, this.#config, this.#room);
      return { queue, outbox, inbox: new Inbox(queue, clock, retryAfter) };
    });
  }
}

export interface ThreadData extends Omit<SqsContext, 'clock' | 'manager'> {
  readonly config: SqsConfig;
}

/** The module by which another thread reaches the same queues; see `ThreadAccess`. */
export function open({ config, ...context }: ThreadData, deadline: Seconds): StoreThread {
  return new SqsConnection(config, { ...context, clock: systemClock, deadline: Math.min(context.deadline, deadline) });
}
