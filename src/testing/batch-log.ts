/** The batches dispatched on the connections of a fake, in order. */
import type { Milliseconds } from '../base/clock';
import { callbackPayload, type BatchCallback, type BatchEvent, type NewBatch } from '../connections/batch-store';
import { Carry } from '../dispatch/built-in';
import { ReadPush, type NextJob } from './push';
import { MOST_LISTED } from './push-log';

/** A job of a batch. */
export interface BatchedJob extends NextJob {
  /** The jobs that follow it; for an inner list, those after its first. */
  readonly chain: readonly NextJob[];
}

/** One batch, as it was dispatched. */
export interface PushedBatch {
  readonly id: string;
  /** Empty if it was given none. */
  readonly name: string;
  readonly connection: string;
  /** In the order in which they were given, including jobs added later, but not those added by the success of one of its jobs. */
  readonly jobs: readonly BatchedJob[];
  /** The jobs that it sends, by event; `next`: the rest of the chain that it is a link of. */
  readonly callbacks: Readonly<Record<BatchEvent, readonly NextJob[]>>;
  readonly allowsFailures: boolean;
  /** `progress` is sent each time this many jobs have ended. */
  readonly every: number | undefined;
}

export class ReadBatch {
  readonly #connection: string;
  readonly #begins: NewBatch;
  readonly #now: Milliseconds;
  readonly #joined: ReadPush[] = [];

  constructor(connection: string, begins: NewBatch, now: Milliseconds) {
    this.#connection = connection;
    this.#begins = begins;
    this.#now = now;
  }

  join(jobs: readonly ReadPush[]): void {
    this.#joined.push(...jobs);
  }

  // Ids grow in the order in which the jobs were given; jobs of one queue are pushed together.
  get jobs(): readonly ReadPush[] {
    return this.#joined.toSorted((a, b) => (a.push.id < b.push.id ? -1 : 1));
  }

  get batch(): PushedBatch {
    const { id, name, allowsFailures, every } = this.#begins;
    const jobs = this.jobs.map(batchedJob);
    return { id, name, connection: this.#connection, jobs, callbacks: this.#callbacks, allowsFailures, every };
  }

  /** For people. */
  describe(): string {
    const { jobs } = this;
    const { name } = this.#begins;
    const lines = jobs.slice(0, MOST_LISTED).map((job) => `\n     ${job.describe()}`);
    const rest = jobs.length > MOST_LISTED ? `\n     … and ${jobs.length - MOST_LISTED} more` : '';
    return `the batch${name === '' ? '' : ` '${name}'`} on '${this.#connection}'${lines.join('')}${rest}`;
  }

  get #callbacks(): PushedBatch['callbacks'] {
    const of = (event: BatchEvent): NextJob[] =>
      this.#begins.callbacks.filter(({ on }) => on === event).map((callback) => this.#read(callback).next);
    return {
      then: of('then'),
      catch: of('catch'),
      finally: of('finally'),
      progress: of('progress'),
      next: of('next'),
    };
  }

  #read({ queue, delay, dueAt, ...text }: BatchCallback): ReadPush {
    const entry = { payload: callbackPayload(text), delay, dueAt };
    const read = new ReadPush(this.#connection, queue, entry, this.#now);
    const { job } = read;
    if (!(job instanceof Carry)) return read;
    // A job of another connection travels in a carrier.
    const { onward } = job;
    return new ReadPush(onward.connection, onward.queue, onward.entry, this.#now);
  }
}

export class BatchLog {
  readonly #batches = new Map<string, ReadBatch>();

  get all(): readonly ReadBatch[] {
    return [...this.#batches.values()];
  }

  begin(connection: string, begins: NewBatch, now: Milliseconds): void {
    this.#batches.set(begins.id, new ReadBatch(connection, begins, now));
  }

  has(id: string): boolean {
    return this.#batches.has(id);
  }

  join(id: string, jobs: readonly ReadPush[]): void {
    this.#batches.get(id)?.join(jobs);
  }

  /** For people: what was dispatched, with one line for each job. */
  describe(): string {
    const { all } = this;
    if (all.length === 0) return 'No batch was dispatched.';
    return `What was dispatched:${all.map((batch, place) => `\n  ${place + 1}. ${batch.describe()}`).join('')}`;
  }
}

export const batchedJob = (read: ReadPush): BatchedJob => ({ ...read.next, chain: read.links.map(({ next }) => next) });
