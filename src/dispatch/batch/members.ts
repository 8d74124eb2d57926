/** The jobs of a batch: those in it, whose texts say that they belong to it, and those that it sends. */
import { chosenOf, enterGroup } from '../../job/choices';
import type { BatchMember, ChainedJob } from '../../job/job-context';
import type { Onward } from '../../connections/entries';
import { definitionOfJob } from '../../job/instance';
import { isJob } from '../../job/pending';
import type { JobInstance, JobRegistry } from '../../job/registry';
import { invalidBatch } from '../../job/errors';
import { withChain, CARRIER, chainedJobOf, readCarried, type ChainLink } from '../../payload/chain';
import { withBatch } from '../../payload/payload-text';
import { laneOf, withTies, type BatchTie } from '../../payload/ties';
import { orEndUnsent, positioned, checkTies, pushesItself } from '../send';
import { batchElsewhere, pushesItselfInChain } from '../errors';
import type { EncodedJob } from '../job-encoder';
import type { Application } from '../../connections/application';
import {
  callbackParts,
  callbackPayload,
  type BatchCallback,
  type BatchCallbacks,
  type BatchEvent,
  type NewBatch,
} from '../../connections/batch-store';
import { envelopeIn } from '../../payload/envelope';
import { uuidv7 } from '../../payload/uuid';
import { carrierText, sealText } from '../built-in';

/** Where a batch is kept. */
export interface BatchPlace {
  readonly id: string;
  readonly connection: string;
  /** The queue of one of its jobs: a store that keeps each queue separately keeps the batch there. */
  readonly queue: string;
  /** Where jobs go that choose no queue themselves. Undefined if their classes decide. */
  readonly chosenQueue: string | undefined;
  /** The only queue that its jobs may be in. Undefined if any. */
  readonly only: string | undefined;
}

export class Members {
  readonly #manager: Application;
  readonly #place: BatchPlace;
  readonly #group = {};
  readonly #alone: BatchTie;
  #count = 0;

  constructor(manager: Application, place: BatchPlace) {
    this.#manager = manager;
    this.#place = place;
    this.#alone = { id: place.id, weight: 1 };
  }

  /** @throws any error of the member, with its position */
  encode(member: BatchMember): EncodedJob | undefined {
    return this.#placed(member, (first, links) => {
      const { id, connection, chosenQueue: queue } = this.#place;
      const own = chosenOf(first);
      const batch = links.length === 0 ? this.#alone : { id, weight: 1 + links.length };
      const encoded = this.#manager.encoder.encode(first, {
        batch,
        connection: own.connection ?? connection,
        queue: own.queue ?? queue,
        chain: links.length === 0 ? undefined : { links, connection, queue },
      });
      orEndUnsent([encoded], () => this.#checkPlace(encoded.name, encoded.connection, encoded.queue));
      // That the connection keeps batches was checked before.
      if (encoded.entry.ties?.unique !== undefined || encoded.entry.ties?.lane !== undefined)
        checkTies([encoded], () => this.#manager.driver(connection));
      if (queue === undefined) return encoded;
      const { entry } = encoded;
      return Object.assign(encoded, { entry: { ...entry, payload: this.#noted(entry.payload) } });
    });
  }

  /**
   * For a job that follows a job of the batch: it holds no unique key, because nothing may refuse it. @throws any error of the
   * member
   */
  encodeFollower(member: BatchMember): Onward | undefined {
    return this.#placed(member, (first, links) => {
      const { id, connection, chosenQueue: queue } = this.#place;
      const [link, ...behind] = this.#manager.encoder.links([first, ...links], connection, { connection, queue });
      this.#checkPlace(this.#nameOf(first), link!.connection ?? connection, link!.queue);
      const ties = { batch: { id, weight: 1 + links.length }, lane: laneOf(link!.payload) };
      const payload = withTies(withChain(this.#noted(link!.payload), { links: behind }), ties);
      const { delay, dueAt, retryWithin } = link!;
      return { connection, queue: link!.queue, retryWithin, entry: { payload, delay, dueAt, ties } };
    });
  }

  /** Says where jobs go that this one adds. */
  #noted(payload: string): string {
    const { chosenQueue: jobs } = this.#place;
    return jobs === undefined ? payload : withBatch(payload, { jobs });
  }

  #placed<Encoded>(
    member: BatchMember,
    encode: (first: object, links: readonly object[]) => Encoded,
  ): Encoded | undefined {
    if (isLeftOut(member)) return undefined;
    this.#count += 1;
    try {
      const jobs: readonly unknown[] = Array.isArray(member) ? member.filter((link) => !isLeftOut(link)) : [member];
      for (const job of jobs) this.#check(job);
      const [first, ...links] = jobs as readonly object[];
      if (first === undefined) throw invalidBatch(member, 'a chain in it needs at least one job.');
      for (const link of links) this.#checkLink(link);
      return encode(first, links);
    } catch (error) {
      throw positioned(error, `job ${this.#count}`);
    }
  }

  #checkLink(link: object): void {
    const { connection, chosenQueue } = this.#place;
    const own = chosenOf(link);
    const queue = own.queue ?? chosenQueue;
    const route = this.#manager.encoder.route(link, { connection, ...(queue !== undefined && { queue }) });
    this.#checkPlace(this.#nameOf(link), own.connection ?? connection, route.queue);
  }

  #nameOf(job: object): string {
    return definitionOfJob(job, this.#manager.registry).name;
  }

  #check(job: unknown): asserts job is JobInstance {
    if (!isJob(job))
      throw invalidBatch(
        job,
        'it takes instances of jobs, and lists of jobs as chains, as in Queue.batch([new Resize(1)]).',
      );
    if (pushesItself(job)) throw pushesItselfInChain(this.#nameOf(job));
    if (!enterGroup(job, this.#group)) throw invalidBatch(job, 'it is in it twice; make a new instance for each.');
  }

  #checkPlace(name: string, connection: string, queue: string): void {
    const place = this.#place;
    if (connection !== place.connection)
      throw batchElsewhere(name, `the connection '${connection}'`, `'${place.connection}'`);
    if (place.only !== undefined && queue !== place.only)
      throw batchElsewhere(name, `the queue '${queue}'`, `the queue '${place.only}' of a cluster`);
  }
}

const isLeftOut = (member: unknown): member is false | null | undefined =>
  member === false || member === null || member === undefined;

/** Without a queue it is a carrier, which waits where the batch's jobs do: there might be no worker for another queue. */
export type PlannedCallback = Omit<BatchCallback, 'queue'> & Partial<Pick<BatchCallback, 'queue'>>;

export type PlannedBatch = Omit<NewBatch, 'callbacks'> & { readonly callbacks: readonly PlannedCallback[] };

/**
 * The job itself, or a carrier if the store cannot send it: to another connection, to another queue of a cluster, or if a moment
 * in its text must be computed when it is sent.
 */
export function callbackOf(
  on: BatchEvent,
  link: ChainLink,
  place: BatchPlace,
  { registry }: Application,
): PlannedCallback {
  const { connection = place.connection, queue, delay, dueAt, retryWithin } = link;
  const { id, connection: kept, queue: keptIn, chosenQueue: jobs } = place;
  const payload = withBatch(link.payload, { id, connection: kept, queue: keptIn, jobs });
  // A store would let a job into its lane only in a push.
  const isLaned = laneOf(payload) !== undefined;
  const isReached =
    connection === place.connection && (place.only ?? queue) === queue && retryWithin === undefined && !isLaned;
  if (isReached) return { on, queue, delay, dueAt, ...callbackParts(payload) };
  const onward: Onward = { connection, queue, retryWithin, entry: { payload, delay, dueAt } };
  return { on, ...callbackParts(carrierText(onward, registry)) };
}

/**
 * What tells those who add jobs later what `onQueue()` said, for a batch without callbacks, whose texts would say it: stores keep
 * nothing else of ours. A progress of a batch that reports none, it is never sent.
 */
export function noteOf({ id, chosenQueue: jobs, queue }: BatchPlace, classes: JobRegistry): PlannedCallback {
  return { on: 'progress', queue, ...callbackParts(withBatch(sealText(uuidv7(), id, undefined, classes), { jobs })) };
}

/** What `onQueue()` of the batch said. */
export function jobsQueueOf({ callbacks }: BatchCallbacks): string | undefined {
  const [callback] = callbacks;
  return callback && envelopeIn(Buffer.from(sentBy(callback).payload))?.batchJobs;
}

/** A job that a batch sends. */
export interface BatchCallbackJob extends ChainedJob {
  /** `next`: the rest of the chain in which the batch is a link. */
  readonly on: BatchEvent;
  /** For `progress`: sent each time this many jobs have ended. */
  readonly every?: number | undefined;
  /** For `progress`, which may be sent several times with `-` and a number after its id: whether it was sent at least once. */
  readonly isSent: boolean;
}

/** @param ended how many of its jobs have ended */
export function callbackJobs(
  { callbacks, every = Infinity, sent }: BatchCallbacks,
  connection: string,
  ended: number,
): readonly BatchCallbackJob[] {
  // Without the note.
  const sending = callbacks.filter(({ on }) => on !== 'progress' || every !== Infinity);
  return sending.map((callback) => {
    const job = chainedJobOf(sentBy(callback), connection);
    const { on } = callback;
    return on === 'progress'
      ? { ...job, on, every, isSent: ended >= every }
      : { ...job, on, isSent: sent.includes(on) };
  });
}

/** If the callback is a carrier: the job that it carries. */
function sentBy(callback: BatchCallback): ChainLink {
  const payload = callbackPayload(callback);
  const link = { queue: callback.queue, payload };
  if (chainedJobOf(link, '').name !== CARRIER) return link;
  const [carried] = readCarried((JSON.parse(payload) as { readonly data: unknown }).data);
  return carried!;
}
