/** A chain under construction: jobs that run one after the other, each sent when the one before it succeeds. */
import { invalidChain, notDispatched } from './errors';
import { chosenOf, type ChosenChain, type InstanceChoice } from './beside-instance';
import { classOf } from '../base/class';
import type { PendingBatch } from './batch';
import type { JobInstance } from './definition';
import type { PendingDispatch } from './dispatcher';
import { checkDelay, type Delay } from './duration';
import { checkQueueName } from './queue-name';

/**
 * What a chain may consist of: jobs, and batches; the chain goes on when a batch has ended well. False, null and undefined are
 * left out, so that a link can depend on a condition.
 */
export type ChainList = readonly (JobInstance | PendingBatch<unknown> | false | null | undefined)[];

/** Sends the first link, with the chain's choices for it. */
type SendFirst = (job: object, choice: InstanceChoice) => PendingDispatch;

export class PendingChain<Parameters extends readonly unknown[] = []> {
  readonly #first: (...parameters: Parameters) => ChainList;
  readonly #send: SendFirst;
  #connection: string | undefined;
  #queue: string | undefined;
  #delay: Delay | undefined;
  #caught: object | undefined;

  /** @param first returns all links; it makes the first one from the parameters of `dispatch` */
  constructor(first: (...parameters: Parameters) => ChainList, send: SendFirst) {
    this.#first = first;
    this.#send = send;
  }

  /** For all links that chose none with `new X().onConnection()`. */
  onConnection(connection: string): this {
    this.#connection = connection;
    return this;
  }

  /** For all links that chose none with `new X().onQueue()`. @throws E_INVALID_QUEUE_NAME */
  onQueue(queue: string): this {
    checkQueueName(queue, 'onQueue() of a chain');
    this.#queue = queue;
    return this;
  }

  /** Delays the first link. Other links may have their own delay, counted from the end of the link before. */
  delay(delay: Delay): this {
    checkDelay(delay, 'delay() of a chain');
    this.#delay = delay;
    return this;
  }

  /**
   * A job that is sent when a link has failed for good, in the step that records the failure; in it, `this.job.cause` says which
   * link and why.
   */
  catch(job: JobInstance): this {
    if (!isLink(job))
      throw invalidChain(job, 'catch() of a chain takes a job: a function could not travel to a worker.');
    this.#caught = job;
    return this;
  }

  /**
   * Sends the first link and returns its id.
   *
   * @throws E_INVALID_CHAIN; when awaited, also any error of a link. Then nothing was sent.
   */
  dispatch(...parameters: Parameters): PendingDispatch {
    const [first, ...links] = linksOf(this.#first(...parameters));
    const chain: ChosenChain = { links, caught: this.#caught, connection: this.#connection, queue: this.#queue };
    const { connection = this.#connection, queue = this.#queue } = chosenOf(first);
    const choice: InstanceChoice = { chain, connection, queue };
    return this.#send(first, this.#delay === undefined ? choice : { ...choice, delay: this.#delay });
  }

  /** Rejects when the chain is awaited without `dispatch()`: otherwise nothing would be sent, silently. */
  protected then(_fulfilled: unknown, rejected: (error: Error) => void): void {
    rejected(notDispatched('chain'));
  }
}

function linksOf(list: ChainList): readonly [object, ...object[]] {
  if (!Array.isArray(list)) throw invalidChain(list, 'A chain takes a list of jobs.');
  const links = (list as ChainList).filter((link) => link !== undefined && link !== null && link !== false);
  for (const [place, link] of links.entries()) {
    if (!isLink(link))
      throw invalidChain(
        link,
        `Link ${place + 1} of the chain is not a job: give an instance, as in Queue.chain([new Fetch(1), ...others]).`,
      );
  }
  if (links.length === 0) throw invalidChain(list, 'A chain needs a job to begin with.');
  return links as readonly object[] as readonly [object, ...object[]];
}

/** Whether the value could be a job. Lists, and chains within a chain, must be spread instead. */
export function isLink(link: unknown): link is object {
  return classOf(link) !== undefined && !Array.isArray(link) && !(link instanceof PendingChain);
}
