/** The jobs that our connections have reserved. */
import type { Milliseconds } from '../../base/clock';
import type { Counters } from '../../payload/counters';
import type { SettleResult } from '../contract';
import type { JobFacts } from './marks';
import type { Fields } from './protocol';
import type { Reserver } from './reserver';

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
