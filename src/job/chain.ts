/** A chain that is being put together: jobs that run one after the other, each sent by the success of the one before it. */
import { invalidChain, notDispatched } from './errors';
import { chosenOf, type ChosenChain, type InstanceChoice } from './beside-instance';
import { classOf } from '../base/class';
import type { PendingBatch } from './batch';
import type { JobInstance } from './definition';
import type { PendingDispatch } from './dispatcher';
import { checkDelay, type Delay } from './duration';
import { checkQueueName } from './queue-name';

/** What may stand in a list of links: jobs, and batches, behind which it goes on once they have ended well. What is false, null or undefined is left out, so that a link can depend on a condition. */
export type ChainList = readonly (JobInstance | PendingBatch<unknown> | false | null | undefined)[];

/** Sends the first link, with what the chain has chosen for it. */
type SendFirst = (job: object, choice: InstanceChoice) => PendingDispatch;

export class PendingChain<Parameters extends readonly unknown[] = []> {
  readonly #first: (...parameters: Parameters) => ChainList;
  readonly #send: SendFirst;
  #connection: string | undefined;
  #queue: string | undefined;
  #delay: Delay | undefined;
  #caught: object | undefined;

  /** @param first gives all links, the first of them made with what `dispatch` was given */
  constructor(first: (...parameters: Parameters) => ChainList, send: SendFirst) {
    this.#first = first;
    this.#send = send;
  }

  /** For all links that were given none themselves, by `new X().onConnection()`. */
  onConnection(connection: string): this {
    this.#connection = connection;
    return this;
  }

  /** For all links that were given none themselves, by `new X().onQueue()`. @throws E_INVALID_QUEUE_NAME */
  onQueue(queue: string): this {
    checkQueueName(queue, 'onQueue() of a chain');
    this.#queue = queue;
    return this;
  }

  /** Of the first link. Each further one may have a delay of its own, from the end of the one before it. */
  delay(delay: Delay): this {
    checkDelay(delay, 'delay() of a chain');
    this.#delay = delay;
    return this;
  }

  /** A job that is sent when a link has failed for good, in the step that records it; in it, `this.job.cause` says which and why. */
  catch(job: JobInstance): this {
    if (!isLink(job)) throw invalidChain(job, 'catch() of a chain takes a job: what is to run later has to travel.');
    this.#caught = job;
    return this;
  }

  /**
   * Sends the first link; gives its id.
   *
   * @throws E_INVALID_CHAIN, and when it is awaited what is wrong with any link; then nothing was sent
   */
  dispatch(...parameters: Parameters): PendingDispatch {
    const [first, ...links] = linksOf(this.#first(...parameters));
    const chain: ChosenChain = { links, caught: this.#caught, connection: this.#connection, queue: this.#queue };
    const own = chosenOf(first);
    return this.#send(first, {
      chain,
      ...(own.connection === undefined && this.#connection !== undefined && { connection: this.#connection }),
      ...(own.queue === undefined && this.#queue !== undefined && { queue: this.#queue }),
      ...(this.#delay !== undefined && { delay: this.#delay }),
    });
  }

  /** Awaited in place of its dispatch, it would have sent nothing, and said nothing. */
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
        `Link ${place + 1} of the chain is no job: give an instance, as in Queue.chain([new Fetch(1), ...others]).`,
      );
  }
  if (links.length === 0) throw invalidChain(list, 'A chain needs a job to begin with.');
  return links as readonly object[] as readonly [object, ...object[]];
}

/** Whether it can be a job: a chain within a chain, or a list, is to be spread. */
export function isLink(link: unknown): link is object {
  return classOf(link) !== undefined && !Array.isArray(link) && !(link instanceof PendingChain);
}
