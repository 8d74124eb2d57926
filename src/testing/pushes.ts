/** What was pushed and dispatched on the connections of a fake, in order. */
import type { Class } from '../base/class';
import type { Milliseconds, Seconds } from '../base/clock';
import { valueText } from '../base/text';
import { type BatchCallback, type BatchEvent, callbackPayload, type NewBatch } from '../connections/batch-store';
import { currentApplication } from '../connections/application';
import type { Entry, Pushed as PushResult } from '../connections/contract';
import { START_BATCH, StartBatch } from '../dispatch/batch/send-batch';
import { Carry } from '../dispatch/built-in';
import { subjectOf } from '../job/declare';
import { definitionOfClass } from '../job/instance';
import { BUILT_IN, type JobDefinition, registry } from '../job/registry';
import type { ChainLink } from '../payload/chain';
import { decodeJob, type Envelope, envelopeIn } from '../payload/envelope';
import { Vault } from '../payload/vault';

/** One payload as it reached a connection. */
export interface Push {
  /** Empty if the payload has none. */
  readonly id: string;
  /** The job's name. Empty if the payload cannot be read. */
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  /** 0: ready at once. */
  readonly delay: Seconds;
  /** The payload's fields. Empty if it cannot be read. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** The whole payload, unchanged. */
  readonly text: string;
}

/** A job that was pushed, or will be. */
export interface Pushed<J extends object> extends Push {
  /** The job as a worker would get it, made anew from the payload for each call. */
  readonly job: J;
}

/** The jobs of a class, or, if it listens, the events sent to it. */
export type Sent<J extends object> =
  | J
  | (J extends { readonly handle: (event: infer E extends object, ...injected: never[]) => unknown } ? E : never);

/** A job that follows another. */
export interface NextJob extends Push {
  /** The job as a worker would get it. Undefined if its class is not registered here. */
  readonly job: object | undefined;
}

export class ReadPush {
  readonly push: Push;
  readonly definition: JobDefinition | undefined;
  readonly #envelope: Envelope | undefined;
  readonly #now: Milliseconds;
  readonly #vault: Vault;

  /** @param vault of the application that pushes: it may be closed before the job is read */
  constructor(
    connection: string,
    queue: string,
    entry: Entry,
    now: Milliseconds,
    vault: Vault = currentApplication()?.vault ?? new Vault(),
  ) {
    const { payload: text, dueAt } = entry;
    const delay = dueAt === undefined ? (entry.delay ?? 0) : Math.max(0, (dueAt - now) / 1000);
    // A raw push may be anything; a worker would set it aside.
    const envelope = envelopeIn(Buffer.from(text));
    this.#envelope = envelope;
    this.#now = now;
    this.#vault = vault;
    this.definition = envelope?.definitionIn(registry());
    const name = this.definition?.name ?? envelope?.name ?? '';
    this.push = { id: envelope?.id ?? '', name, connection, queue, delay, payload: envelope?.fields ?? {}, text };
  }

  static ofLink(link: ChainLink, from: string, now: Milliseconds, vault?: Vault): ReadPush {
    return new ReadPush(link.connection ?? from, link.queue, link, now, vault);
  }

  /** As a worker would get it. Undefined if its class is not registered here. @throws InvalidPayloadError, UnknownClassError */
  get job(): object | undefined {
    return this.#envelope && this.definition && decodeJob(this.#envelope, this.definition, registry(), this.#vault, {});
  }

  get next(): NextJob {
    return { ...this.push, job: this.job };
  }

  /** The jobs that travel in it: the rest of its chain, in order. */
  get links(): readonly ReadPush[] {
    return (this.#envelope?.chain.links ?? []).map((link) => this.#linked(link));
  }

  get caught(): ReadPush | undefined {
    const caught = this.#envelope?.chain.caught;
    return caught && this.#linked(caught);
  }

  /** The jobs of a batch that is a link. */
  get members(): readonly ReadPush[] | undefined {
    const { job } = this;
    if (!(job instanceof StartBatch)) return undefined;
    const { jobs, place } = job.plan;
    return jobs.map(({ queue, entry }) => new ReadPush(place.connection, queue, entry, this.#now, this.#vault));
  }

  /** For people. */
  describe(): string {
    const { queue, connection, delay } = this.push;
    const later = delay > 0 ? `, delayed by ${delay} s` : '';
    const links = this.links.map((link) => `\n     then ${link.#onQueue()}`).join('');
    const caught = this.caught === undefined ? '' : `\n     if one fails ${this.caught.#onQueue()}`;
    return `${this.shown} on the queue '${queue}' of '${connection}'${later}${links}${caught}`;
  }

  #onQueue(): string {
    return `${this.shown} on '${this.push.queue}' of '${this.push.connection}'`;
  }

  #linked(link: ChainLink): ReadPush {
    return ReadPush.ofLink(link, this.push.connection, this.#now, this.#vault);
  }

  /** Its class and data, in one line. */
  get shown(): string {
    const { name, text, payload } = this.push;
    try {
      const { job, members } = this;
      if (members !== undefined) return `a batch of ${members.map((member) => member.shown).join(', ') || 'no jobs'}`;
      if (job !== undefined) return valueText(job, 2);
    } catch (error) {
      return `${name}, whose data cannot be read (${(error as Error).message})`;
    }
    return name === '' ? `the string ${valueText(text)}` : `${name} ${valueText(payload['data'], 2)}`;
  }
}

/** A failed assertion should fit on a screen. */
const MOST_LISTED = 20;

/** What was pushed onto the connections of a fake, in order. */
export class PushLog {
  readonly #logged: ReadPush[] = [];
  /** The pushed jobs, and batches that are the first link of a chain. */
  readonly #shown: ReadPush[] = [];
  readonly #skipped: ReadPush[] = [];

  get pushes(): readonly Push[] {
    return this.#logged.map(({ push }) => push);
  }

  /** All pushes, each with the jobs that travel in it. */
  get all(): readonly ReadPush[] {
    return this.#shown;
  }

  /** Returns the program's own pushes among them. */
  add(connection: string, queue: string, entries: readonly Entry[], now: Milliseconds): readonly ReadPush[] {
    const added = entries.map((entry) => new ReadPush(connection, queue, entry, now));
    // Carriers are not pushed by the program: the carried job is logged where it arrives.
    const shown = added.filter(({ push }) => !push.name.startsWith(BUILT_IN) || push.name === START_BATCH);
    const logged = shown.filter(({ push }) => push.name !== START_BATCH);
    this.#logged.push(...logged);
    this.#shown.push(...shown);
    return logged;
  }

  /** Notes which jobs do not run: those that were refused, and pushed ones that others replaced. */
  skip(connection: string, queue: string, entry: Entry, pushed: PushResult, now: Milliseconds): void {
    if (typeof pushed !== 'object') return;
    const skipped =
      'replaced' in pushed
        ? this.#logged.find(({ push }) => push.connection === connection && push.id === pushed.replaced)
        : new ReadPush(connection, queue, entry, now);
    if (skipped !== undefined) this.#skipped.push(skipped);
  }

  /** @throws InvalidPayloadError, UnknownClassError a worker could not make the job either */
  of<J extends object>(target: Class): Pushed<J>[] {
    return jobsOf(target, this.#logged);
  }

  /** @throws as `of` */
  skippedOf<J extends object>(target: Class): Pushed<J>[] {
    return jobsOf(target, this.#skipped);
  }

  /** For people: what was pushed, one line each. */
  describe(): string {
    const { length } = this.#shown;
    if (length === 0) return 'Nothing was pushed.';
    const lines = this.#shown.slice(0, MOST_LISTED).map((one, index) => `\n  ${index + 1}. ${one.describe()}`);
    const rest = length > MOST_LISTED ? `\n  … and ${length - MOST_LISTED} more` : '';
    return `What was pushed:${lines.join('')}${rest}`;
  }
}

function jobsOf<J extends object>(target: Class, among: readonly ReadPush[]): Pushed<J>[] {
  const { name } = definitionOfClass(target);
  return among
    .filter(({ definition }) => definition !== undefined && definition.name === name)
    .map((one) => ({ ...one.push, job: subjectOf(one.job!) as J }));
}

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

/** The batches dispatched on the connections of a fake, in order. */
class ReadBatch {
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

/** By id. */
export class BatchLog extends Map<string, ReadBatch> {
  begin(connection: string, begins: NewBatch, now: Milliseconds): void {
    this.set(begins.id, new ReadBatch(connection, begins, now));
  }

  /** For people: what was dispatched, with one line for each job. */
  describe(): string {
    if (this.size === 0) return 'No batch was dispatched.';
    return `What was dispatched:${[...this.values()].map((batch, place) => `\n  ${place + 1}. ${batch.describe()}`).join('')}`;
  }
}

export const batchedJob = (read: ReadPush): BatchedJob => ({ ...read.next, chain: read.links.map(({ next }) => next) });
