/**
 * Sends the items that come in, usually one call at a time: what comes meanwhile travels in the next call.
 *
 * Sending one call at a time makes a repeat harmless, because Redis keeps only the last answer to a client. It also makes
 * many small calls fast. A lane whose calls are carried out in order or not at all may have several under way.
 */
import { momentOf, type Clock, type Milliseconds, type Moment, type Seconds } from '../../base/clock';
import { MOST_BYTES, MOST_JOBS, Recent } from '../../base/collections';
import { inRootContext } from '../application';
import { QueueUnavailableError } from '../errors';
import { SHORTEST_ATTEMPT } from '../kit/caller';
import type { RedisCaller } from './caller';
import { clientId, type Keys, type QueueKey } from './keys';
import type { Form } from './link';
import type { ScriptName } from './scripts';

/** Redis keeps the record of an answer for an hour; the difference allows for clocks that disagree. */
const REMEMBERED: Milliseconds = 50 * 60 * 1000;

/** A record's key belongs to the first queue of a call. */
const MOST_RECORDS = 1000;

/** When the last answered calls were sent, by the keys of their records. Shared by lanes that notice lost data together. */
export class Records {
  readonly #sentAt = new Recent<string, Moment>(MOST_RECORDS);

  /**
   * Whether Redis lost data that it had confirmed: its record lacks a call that it answered not long ago.
   * True only once per loss, for the key that notices it first.
   *
   * @param key the key of the record
   * @param sentAt when the call was sent whose answer says `unrecorded`
   */
  areLost(key: string, sentAt: Moment, unrecorded: boolean, clock: Clock): boolean {
    const before = this.#sentAt.get(key);
    const areLost = unrecorded && before !== undefined && isRecent(before, momentOf(clock));
    if (areLost) this.#sentAt.clear();
    this.#sentAt.set(key, sentAt);
    return areLost;
  }
}

export interface Waiting {
  readonly since: Milliseconds;
  /** How many jobs it moves, and the total length of their texts in bytes. */
  readonly jobs: number;
  readonly bytes: number;
  /** No two single items travel in one call. */
  readonly isSingle: boolean;
  /** It is repeated until it is answered, even if it could not be sent. */
  readonly insists?: boolean | undefined;
  reject(error: unknown): void;
}

/** A call that a lane sends. */
export interface Sent {
  /** Its number among the calls of the lane. */
  readonly sequence: number;
  /** When its deadline starts. A long line is no silence, so that is no earlier than the last answer. */
  readonly since: Milliseconds;
  /** Read before it is sent: from then on Redis keeps its record. */
  readonly at: Moment;
  /** Resolves when all earlier calls are settled; undefined if they are. */
  readonly before: Promise<void> | undefined;
}

/** Shared by all lanes: a new promise each time would cost every call. */
const RESOLVED = Promise.resolve();

const soon = (send: () => void): void => void RESOLVED.then(send);

export abstract class Lane<Item extends Waiting> {
  /** The name under which Redis records the answers to this lane. */
  protected readonly id = clientId();
  protected readonly caller: RedisCaller;
  /** Items for the next calls. */
  protected waiting: Item[] = [];
  protected underWay = 0;
  #sequence = 0;
  #isGathering = false;
  /**
   * When a call of this lane was last answered. Not of the connection: in a cluster, other masters may answer while this
   * lane's is silent.
   */
  protected answeredAt: Milliseconds = -Infinity;
  /** Resolves when all calls sent so far are settled. */
  #settled: Promise<void> | undefined;

  constructor(caller: RedisCaller) {
    this.caller = caller;
  }

  /** Nothing is under way or waiting. */
  get isIdle(): boolean {
    return !this.#isGathering && this.underWay === 0;
  }

  /** Whether the waiting items may be sent while others are under way. */
  protected maySendBehind(): boolean {
    return false;
  }

  /** Sends the items, and settles each. If it rejects, each item is rejected. */
  protected abstract carry(items: readonly Item[], call: Sent): Promise<void>;

  /** Sends what waits, once everything that travels with it is there. */
  protected goOn(): void {
    if (this.#isGathering || this.waiting.length === 0 || !(this.underWay === 0 || this.maySendBehind())) return;
    this.#isGathering = true;
    this.gather(this.#sendWaiting);
  }

  protected readonly gather: (send: () => void) => void = soon;

  readonly #sendWaiting = (): void => {
    this.#isGathering = false;
    const uncork = this.waiting.length > 1 && this.maySendBehind() ? this.caller.link.cork() : undefined;
    while (this.waiting.length > 0 && (this.underWay === 0 || this.maySendBehind())) {
      let items = this.waiting;
      const count = items.length === 1 ? 1 : fitting(items);
      if (count === items.length) this.waiting = [];
      else items = items.splice(0, count);
      const before = this.underWay > 0 ? this.#settled : undefined;
      const sent = this.#send(items, before);
      // A call may be given up while the calls before it are still to be repeated.
      this.#settled = before?.then(() => sent) ?? sent;
    }
    uncork?.();
  };

  async #send(items: readonly Item[], before: Promise<void> | undefined): Promise<void> {
    const { clock } = this.caller.settings;
    this.underWay += 1;
    try {
      const since = Math.max(items[0]!.since, this.answeredAt);
      await this.carry(items, { sequence: (this.#sequence += 1), since, at: momentOf(clock), before });
      this.answeredAt = clock.monotonic();
    } catch (error) {
      const again = this.#within(error, items);
      for (const item of items) if (!again.includes(item)) item.reject(error);
      this.waiting.unshift(...again);
      this.#rejectLate(error);
    }
    this.underWay -= 1;
    // These belong to others than whoever sent the first.
    if (this.waiting.length > 0) inRootContext(() => this.goOn());
  }

  // A call has the deadline of its oldest item. Later items have time left, if nothing was carried out.
  #within(error: unknown, items: readonly Item[]): readonly Item[] {
    const { clock, deadline } = this.caller.settings;
    if (!(error instanceof QueueUnavailableError) || error.facts.uncertain === true) return [];
    if (error.facts.deadline === undefined) return [];
    const oldest = clock.monotonic() - deadline * 1000;
    return items.slice(1).filter(({ since }) => since > oldest);
  }

  // Items without time left are not sent: each call given up at once would take down a connection that serves others.
  #rejectLate(error: unknown): void {
    if (!(error instanceof QueueUnavailableError) || error.facts.deadline === undefined) return;
    const { clock, deadline } = this.caller.settings;
    const oldest = clock.monotonic() - deadline * 1000 + SHORTEST_ATTEMPT;
    const unsent = new QueueUnavailableError({ ...error.facts, uncertain: false }, { cause: error.cause });
    for (const item of this.waiting.splice(0)) {
      if (item.since > oldest || item.insists === true) this.waiting.push(item);
      else item.reject(unsent);
    }
  }
}

/** How many waiting items travel in the next call: at least one, and as many as one call may move. */
function fitting(items: readonly Waiting[]): number {
  let [jobs, bytes, singles] = [0, 0, 0];
  for (const [at, item] of items.entries()) {
    jobs += item.jobs;
    bytes += item.bytes;
    singles += item.isSingle ? 1 : 0;
    if (at > 0 && (jobs > MOST_JOBS || bytes > MOST_BYTES || singles > 1)) return at;
  }
  return items.length;
}

/** Whether these items fill a call. */
export function fillsCall(items: readonly Waiting[]): boolean {
  let [jobs, bytes] = [0, 0];
  return items.some((item) => (jobs += item.jobs) >= MOST_JOBS || (bytes += item.bytes) >= MOST_BYTES);
}

// By both clocks: the monotonic one stands still while a machine sleeps, and the wall clock may be set back.
function isRecent(before: Moment, now: Moment): boolean {
  return Math.max(now.monotonic - before.monotonic, now.wall - before.wall) < REMEMBERED;
}

/** When a job becomes ready, in the scripts' form: seconds from now, or a moment by Redis's clock. */
export function whenOf(delay: Seconds, dueAt: Milliseconds | undefined): string | number {
  return dueAt === undefined ? delay : `@${dueAt / 1000}`;
}

/** A queue that returns after this many others starts a new record. */
const MOST_QUEUES = 1000;

interface RecordedCall extends Waiting {
  readonly script: ScriptName;
  /** Those after that of the record. */
  readonly keys: readonly string[];
  readonly args: Form[1];
  readonly consequence: string;
  readonly resolve: (reply: readonly unknown[]) => void;
}

/**
 * Occasional calls that change something, those of one queue one after another under one name. Under names of their own,
 * each would leave a record in Redis for an hour: for example, one for each retried job.
 */
export class RecordedCalls {
  readonly #caller: RedisCaller;
  readonly #keys: Keys;
  /** One lane per queue: in a cluster, the lane of a silent master holds up no other. */
  readonly #lanes = new Recent<string, RecordedLane>(MOST_QUEUES, (lane) => lane.isIdle);

  constructor(caller: RedisCaller, keys: Keys) {
    this.#caller = caller;
    this.#keys = keys;
  }

  /**
   * Returns the script's answer. @throws what `RedisCaller.script` throws
   *
   * @param names of the keys of the queue, after that of the record. @param others the keys after those
   */
  ask(
    script: ScriptName,
    queue: string,
    names: readonly QueueKey[],
    args: Form[1],
    consequence: string,
    others: readonly string[] = [],
  ): Promise<readonly unknown[]> {
    const keys = [...this.#keys.of(queue, names), ...others];
    const { client } = this.#keys.queue(queue);
    return this.#lanes
      .ensure(queue, () => new RecordedLane(this.#caller, client))
      .ask({ script, keys, args, consequence });
  }
}

class RecordedLane extends Lane<RecordedCall> {
  readonly #record: string;

  constructor(caller: RedisCaller, recordOf: (id: string) => string) {
    super(caller);
    this.#record = recordOf(this.id);
  }

  ask(call: Omit<RecordedCall, keyof Waiting | 'resolve'>): Promise<readonly unknown[]> {
    const since = this.caller.settings.clock.monotonic();
    return new Promise((resolve, reject) => {
      this.waiting.push({ ...call, since, jobs: 1, bytes: 0, isSingle: true, resolve, reject });
      this.goOn();
    });
  }

  protected async carry([call]: readonly RecordedCall[], { sequence, since }: Sent): Promise<void> {
    const { script, keys, args, consequence, resolve } = call!;
    resolve(await this.caller.script(script, [this.#record, ...keys], [sequence, ...args], consequence, { since }));
  }
}
