/** The jobs that connections of ours have reserved. */
import type { Milliseconds } from '../../base/clock';
import type { Counters } from '../../payload/counters';
import type { SettleResult } from '../contract';
import type { JobFacts } from './marks';
import type { Fields } from './protocol';
import type { Reserver } from './reserver';

/** Fresh from the server. */
export interface RawJob {
  readonly id: string;
  readonly body: Buffer;
  /** When it was asked for, by the monotonic clock: its lease began no earlier. */
  readonly askedAt: Milliseconds;
}

/** With what the server knows of it. */
export interface KnownJob extends RawJob {
  readonly tube: string;
  readonly facts: JobFacts;
  /** How long the server leaves it with a silent holder, as it was pushed. */
  readonly ttr: Milliseconds;
  /** The connection that has reserved it. */
  readonly reserver: Reserver;
}

export function knownJob(job: RawJob, fields: Fields, reserver: Reserver): KnownJob {
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const facts = { priority: number('pri'), reserves: number('reserves'), releases: number('releases') };
  return { ...job, facts, reserver, tube: fields.get('tube') ?? '', ttr: number('ttr') * 1000 };
}

/** Stands for one reservation; the same job reserved again gets another one. */
export class Held {
  readonly job: KnownJob;
  /** Those of its body; undefined: it is no JSON object, and can be given none. */
  readonly written: Counters | undefined;
  /** No other reservation that is held has the same. */
  readonly name: string;
  /** When the server was last asked to leave it with us, and did. */
  keptAt: Milliseconds;
  /** How long we are to keep it without being asked again. */
  leaseEnd: Milliseconds = -Infinity;
  /** It has ended, or is somebody else's. */
  isOver = false;
  /** A call settles it, and will tell what became of it. */
  isClaimed = false;
  /** What the server was asked, also if nobody has heard the answer yet. It is not asked again. */
  settling: Promise<SettleResult> | undefined;
  touching: Promise<boolean> | undefined;
  /** The priority after a settlement whose answer was lost; 'gone': there would be none. */
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

  /** Whether the server has it with us for certain, also when what is sent now arrives late. */
  isFresh(now: Milliseconds): boolean {
    return now - this.keptAt < this.job.ttr / 2;
  }

  /** Whether the server may still have it with us. */
  mayLast(now: Milliseconds): boolean {
    return !this.isOver && now - this.keptAt < this.job.ttr;
  }

  /** False: it is no longer ours to settle, or another call settles it. */
  claim(): boolean {
    const isOurs = this.settling !== undefined || this.doubt !== undefined || this.reserver.holds(this);
    if (this.isClaimed || !isOurs) return false;
    this.isClaimed = true;
    return true;
  }

  /** The call that claimed it has told what became of it. */
  told(): void {
    this.isClaimed = false;
    this.settling = this.doubt = undefined;
    this.reserver.drop(this);
  }
}
