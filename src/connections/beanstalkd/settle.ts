/** Ends reservations, each on the connection that holds it, because only the holder can. */
import { withCounters, type Counters } from '../../payload/counters';
import type { Settlement, SettleResult } from '../contract';
import { LinkEnded, fieldsOf, putCommand, wholeSeconds, type Fields } from './link';
import {
  beyond,
  buriedPriority,
  freshPriority,
  nearestPriority,
  releasedPriority,
  userPriority,
  type JobFacts,
} from './marks';
import { Silence, within, type Milliseconds, type Timer } from '../../base/clock';
import type { Reserver } from './reserver';

type Released = Extract<Settlement, { readonly outcome: 'released' }>;

/**
 * All are sent at once. If one fails, the next call reports those that are settled.
 *
 * @throws QueueUnavailableError; then the call may be repeated, and nothing is carried out twice
 */
export async function settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
  const claimed = settlements.map(({ reservation: { token } }) =>
    token instanceof Held && token.claim() ? token : undefined,
  );
  const settling = claimed.map(async (held, index) =>
    held === undefined ? 'lost' : settleInTime(held, settlements[index]!),
  );
  await Promise.allSettled(settling);
  try {
    const results = await Promise.all(settling);
    for (const held of claimed) held?.told();
    return results;
  } finally {
    for (const held of claimed) if (held !== undefined) held.isClaimed = false;
  }
}

async function settleInTime(held: Held, settlement: Settlement): Promise<SettleResult> {
  const { caller } = held.reserver;
  held.settling ??= settleHeld(held, settlement);
  try {
    const result = await within(caller.settings.clock, caller.deadline, held.settling);
    held.reserver.drop(held);
    return result;
  } catch (error) {
    if (error instanceof Silence) throw held.reserver.failed(error, 'the outcome of a job was not written', true);
    held.settling = undefined;
    throw error;
  }
}

/**
 * Waits as long as the connection lives. If it ends before the answer comes, we ask the server on another one what happened
 * to the job.
 *
 * @throws QueueUnavailableError if no other connection can be made either
 */
async function settleHeld(held: Held, settlement: Settlement): Promise<SettleResult> {
  if (held.doubt !== undefined) return foundOut(held);
  try {
    if (settlement.outcome === 'released') return await release(held, settlement);
    if (settlement.outcome === 'failed') {
      held.doubt = buriedPriority(held.job.facts);
      return await answered(held, `bury ${held.job.id} ${held.doubt}`, 'BURIED');
    }
    if (!(await isOurs(held))) return 'lost';
    held.doubt = 'gone';
    return await answered(held, `delete ${held.job.id}`, 'DELETED');
  } catch (error) {
    if (!(error instanceof LinkEnded)) throw error;
    return error.sent && held.doubt !== undefined ? foundOut(held) : 'lost';
  }
}

/** Whether it can be settled by one command that is sent at once. */
export function goesAtOnce(held: Held, settlement: Settlement): boolean {
  const { clock } = held.reserver.caller.settings;
  if (settlement.outcome === 'released')
    return releasedPriority(held.job.facts, beyond(settlement.counters, held.written)) !== undefined;
  return settlement.outcome === 'failed' || held.isFresh(clock.monotonic());
}

async function release(held: Held, settlement: Released): Promise<SettleResult> {
  const { facts } = held.job;
  const counters = beyond(settlement.counters, held.written);
  const priority = releasedPriority(facts, counters);
  if (priority === undefined && held.written !== undefined) {
    const moved = await putAgain(held, settlement);
    if (moved !== undefined) return moved;
  }
  held.doubt = priority ?? nearestPriority(facts, counters);
  return answered(held, `release ${held.job.id} ${held.doubt} ${wholeSeconds(settlement.delay)}`, 'RELEASED');
}

/**
 * The marks have no room for these counters: puts the job in once more with all of them in its body, and then removes the
 * old one. A crash between the two leaves the job twice rather than losing it. Undefined if the new job was not taken.
 */
async function putAgain(held: Held, settlement: Released): Promise<SettleResult | undefined> {
  if (!(await isOurs(held))) return 'lost';
  const { link } = held.reserver;
  const put = putCommand({
    body: withCounters(settlement.reservation.payload, settlement.counters),
    priority: freshPriority(userPriority(held.job.facts)),
    delay: settlement.delay,
    lease: held.job.ttr / 1000,
  });
  held.doubt = 'gone';
  const inserted = (await link.ask([...link.use(held.job.tube), put], Infinity)).at(-1)!;
  if (inserted.word !== 'INSERTED') return undefined;
  const result = await answered(held, `delete ${held.job.id}`, 'DELETED');
  if (result === 'lost') await link.ask([`delete ${inserted.args[0]}`], Infinity);
  return result;
}

// Once the lease has ended the job waits, and anybody could delete it. Only its holder may.
async function isOurs(held: Held): Promise<boolean> {
  const { clock } = held.reserver.caller.settings;
  return held.isFresh(clock.monotonic()) || held.reserver.touch(held);
}

async function answered(held: Held, command: string, word: string): Promise<SettleResult> {
  const { link, caller } = held.reserver;
  const [reply] = await link.ask([command], caller.deadline);
  return reply!.word === word ? 'settled' : 'lost';
}

async function foundOut(held: Held): Promise<SettleResult> {
  const consequence = 'the outcome of a job was not written';
  const { word, body } = await held.reserver.caller.ask(`stats-job ${held.job.id}`, consequence);
  if (held.doubt === 'gone') return word === 'NOT_FOUND' ? 'settled' : 'lost';
  return fieldsOf(body).get('pri') === String(held.doubt) ? 'settled' : 'lost';
}

/** A job fresh from the server. */
export interface RawJob {
  readonly id: string;
  readonly body: Buffer;
  /** When it was asked for, by the monotonic clock: its lease began no earlier. */
  readonly askedAt: Milliseconds;
}

/** A job with what the server knows about it. */
export interface KnownJob extends RawJob {
  readonly tube: string;
  readonly facts: JobFacts;
  /** How long the server leaves it with a silent holder, as set by its push. */
  readonly ttr: Milliseconds;
  /** The connection that has reserved it. */
  readonly reserver: Reserver;
}

/** The jobs that our connections have reserved. */
export function knownJob(job: RawJob, fields: Fields, reserver: Reserver): KnownJob {
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const facts = { priority: number('pri'), reserves: number('reserves'), releases: number('releases') };
  return { ...job, facts, reserver, tube: fields.get('tube') ?? '', ttr: number('ttr') * 1000 };
}

/** One reservation; the same job reserved again gets another one. */
export class Held {
  readonly job: KnownJob;
  /** The counters of its body. Undefined if that is not a JSON object, and can be given none. */
  readonly written: Counters | undefined;
  /** A name that no other held reservation has. */
  readonly name: string;
  /** When we last asked the server to leave it with us, successfully. */
  keptAt: Milliseconds;
  /** Until when we keep it without being asked again. */
  leaseEnd: Milliseconds = -Infinity;
  /** It has ended, or is somebody else's. */
  isOver = false;
  /** A call is settling it, and will report the result. */
  isClaimed = false;
  /** The settlement that was sent, even if nobody has heard the answer yet. It is not sent again. */
  settling: Promise<SettleResult> | undefined;
  touching: Promise<boolean> | undefined;
  /** Touches it before its time to run ends, if that is shorter than our lease. */
  keeping: Timer | undefined;
  /** The priority after a settlement whose answer was lost; 'gone' if the job would be gone. */
  doubt: number | 'gone' | undefined;

  constructor(job: KnownJob, written: Counters | undefined, name: string) {
    this.job = job;
    this.written = written;
    this.name = name;
    this.keptAt = job.askedAt;
  }

  get reserver(): Reserver {
    return this.job.reserver;
  }

  /** Whether the server certainly still leaves it with us, even if what we send now arrives late. */
  isFresh(now: Milliseconds): boolean {
    return now - this.keptAt < this.job.ttr / 2;
  }

  /** Whether the server may still leave it with us. */
  mayLast(now: Milliseconds): boolean {
    return !this.isOver && now - this.keptAt < this.job.ttr;
  }

  /** False if it is no longer ours to settle, or another call is settling it. */
  claim(): boolean {
    const isOurs = this.settling !== undefined || this.doubt !== undefined || this.reserver.holds(this);
    if (this.isClaimed || !isOurs) return false;
    this.isClaimed = true;
    return true;
  }

  /** The call that claimed it has reported the result. */
  told(): void {
    this.isClaimed = false;
    this.settling = this.doubt = undefined;
    this.reserver.drop(this);
  }
}
