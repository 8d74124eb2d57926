/**
 * Sends what comes in, as a rule as one call at a time: what comes meanwhile travels in the next.
 *
 * One call at a time is what makes a repeat harmless: Redis keeps the last answer of a client, and no more. It is also
 * what makes many small calls fast. A lane whose calls are carried out in order or not at all may have more under way.
 */
import { type Milliseconds, type Moment, momentOf, type Seconds } from '../../base/clock';
import { MOST_BYTES, MOST_JOBS } from '../../base/pages';
import { Recent } from '../../base/recent';
import { QueueUnavailableError } from '../errors';
import { SHORTEST_ATTEMPT } from '../kit/caller';
import type { RedisCaller } from './caller';
import { clientId } from './keys';

/** Redis keeps the record of an answer for an hour; the rest is for clocks that do not agree. */
const REMEMBERED: Milliseconds = 50 * 60 * 1000;

/** A record stands under the first queue of a call. */
const MOST_RECORDS = 1000;

/** When the last call was sent that Redis answered, by the key of its record. */
export type Records = Recent<string, Moment>;

export const newRecords = (): Records => new Recent(MOST_RECORDS);

export interface Waiting {
  readonly since: Milliseconds;
  /** How many jobs it moves, and how long their texts are. */
  readonly jobs: number;
  readonly bytes: number;
  /** Of such ones no two travel together. */
  readonly isSingle: boolean;
  /** It is asked until it is answered, also where it could not be sent. */
  readonly insists?: boolean | undefined;
  reject(error: unknown): void;
}

/** Shared by all: one more promise each time is a price for each call. */
const RESOLVED = Promise.resolve();

export abstract class Lane<Item extends Waiting> {
  /** Under this name Redis records the answers of this lane. */
  protected readonly id = clientId();
  protected readonly caller: RedisCaller;
  /** What travels in the next calls. */
  protected readonly waiting: Item[] = [];
  readonly #recorded: Records;
  #sequence = 0;
  #underWay = 0;
  #isGathering = false;
  /** When a call was answered last: of this lane, since other masters of a cluster may answer while that of this one is silent. */
  #answeredAt: Milliseconds = -Infinity;
  /** Resolves when all calls that were sent are settled. */
  #settled: Promise<void> | undefined;

  /** @param recorded of lanes that notice together what Redis has lost */
  constructor(caller: RedisCaller, recorded = newRecords()) {
    this.caller = caller;
    this.#recorded = recorded;
  }

  /** Nothing is under way, and nothing waits. */
  get isIdle(): boolean {
    return !this.#isGathering && this.#underWay === 0;
  }

  /** A call is under way. */
  protected get isSending(): boolean {
    return this.#underWay > 0;
  }

  /** Whether what waits may be sent behind so many calls that are under way. */
  protected maySendBehind(_underWay: number): boolean {
    return false;
  }

  /** From when the deadline of a call counts: a long line is no silence, so it is from the last answer. */
  protected waitingSince([oldest]: readonly Item[]): Milliseconds {
    return Math.max(oldest!.since, this.#answeredAt);
  }

  protected heard(): void {
    this.#answeredAt = this.caller.settings.clock.monotonic();
  }

  /**
   * Sends the items as call number `sequence`, and settles each. Where it rejects, so does each item.
   *
   * @param before resolves when all calls before it are settled; undefined: they are
   */
  protected abstract carry(items: readonly Item[], sequence: number, before?: Promise<void>): Promise<void>;

  /** To be taken before a call is sent: from then on its record is kept. */
  protected get moment(): Moment {
    return momentOf(this.caller.settings.clock);
  }

  /**
   * Whether Redis lost what it had confirmed: it has no record of our call before, which it answered not long ago. True
   * once for a loss, under whichever key it is noticed first.
   *
   * @param key where the record stands
   * @param sentAt when the call was sent whose answer says `unrecorded`
   */
  protected forgot(key: string, sentAt: Moment, unrecorded: boolean): boolean {
    const before = this.#recorded.get(key);
    const forgotten = unrecorded && before !== undefined && isRecent(before, this.moment);
    if (forgotten) this.#recorded.clear();
    this.#recorded.set(key, sentAt);
    return forgotten;
  }

  protected enqueue(item: Item): void {
    this.waiting.push(item);
    this.#goOn();
  }

  #goOn(): void {
    if (this.#isGathering || this.waiting.length === 0 || !this.#maySend()) return;
    this.#isGathering = true;
    // Not at once: what is sent in the same turn of the microtasks travels along.
    this.gather(() => {
      this.#isGathering = false;
      this.#sendWaiting();
    });
  }

  /** Calls back in this turn, when what travels along is there. */
  protected gather(send: () => void): void {
    void RESOLVED.then(send);
  }

  #maySend(): boolean {
    return this.#underWay === 0 || this.maySendBehind(this.#underWay);
  }

  #sendWaiting(): void {
    while (this.waiting.length > 0 && this.#maySend()) {
      const items = this.waiting.splice(0, fitting(this.waiting));
      const before = this.#underWay > 0 ? this.#settled : undefined;
      const sent = this.#send(items, before);
      // Of several, one may be given up while those that it was sent behind are still to be asked again.
      this.#settled = before?.then(() => sent) ?? sent;
    }
  }

  async #send(items: readonly Item[], before: Promise<void> | undefined): Promise<void> {
    this.#sequence += 1;
    this.#underWay += 1;
    try {
      await this.carry(items, this.#sequence, before);
      this.heard();
    } catch (error) {
      const again = this.#within(error, items);
      for (const item of items) if (!again.includes(item)) item.reject(error);
      this.waiting.unshift(...again);
      this.#rejectLate(error);
    }
    this.#underWay -= 1;
    this.#goOn();
  }

  // The deadline of a call is that of its oldest item; those that came later have time left, where nothing was done.
  #within(error: unknown, items: readonly Item[]): readonly Item[] {
    const { clock, deadline } = this.caller.settings;
    if (!(error instanceof QueueUnavailableError) || error.facts.uncertain === true) return [];
    if (error.facts.deadline === undefined) return [];
    const oldest = clock.monotonic() - deadline * 1000;
    return items.slice(1).filter(({ since }) => since > oldest);
  }

  // What has no time left is not sent: given up at once, each call would take a connection along that serves others.
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

/** How many of the waiting items travel in the next call: at least one, and as many as one call may move. */
function fitting(items: readonly Waiting[]): number {
  let [jobs, bytes, singles] = [0, 0, 0];
  const past = items.findIndex((item, at) => {
    jobs += item.jobs;
    bytes += item.bytes;
    singles += item.isSingle ? 1 : 0;
    return at > 0 && (jobs > MOST_JOBS || bytes > MOST_BYTES || singles > 1);
  });
  return past < 0 ? items.length : past;
}

/** Whether one call has no room for more than these. */
export function fillsCall(items: readonly Waiting[]): boolean {
  let [jobs, bytes] = [0, 0];
  return items.some((item) => (jobs += item.jobs) >= MOST_JOBS || (bytes += item.bytes) >= MOST_BYTES);
}

// By both clocks: the monotonic one stands still while a machine sleeps, the other may be set back.
function isRecent(before: Moment, now: Moment): boolean {
  return Math.max(now.monotonic - before.monotonic, now.wall - before.wall) < REMEMBERED;
}

/** When a job becomes ready, as the scripts take it: seconds from now, or a moment by the clock of Redis. */
export function whenOf(delay: Seconds, dueAt: Milliseconds | undefined): string | number {
  return dueAt === undefined ? delay : `@${dueAt / 1000}`;
}
