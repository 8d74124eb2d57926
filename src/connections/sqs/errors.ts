/** What only SQS can answer. That it does not answer is `QueueUnavailableError`, as with every store. */
import { OnqueueError } from '../../base/onqueue-error';
import type { Consequential } from '../errors';

interface Place {
  /** The connection's name in the configuration. */
  readonly connection: string;
  /** `Connection.address`. */
  readonly address: string;
  /** The queue's name, or its URL where that is known. */
  readonly queue: string;
  /** What was not done for it, as a clause: `SendEmail was not queued`. */
  readonly consequence: string;
}

export interface SqsReply extends Place {
  /** The action of the API: `SendMessageBatch`. */
  readonly operation: string;
  /** SQS's own code: `OverLimit`. */
  readonly reply: string;
  /** What SQS says of it. */
  readonly message: string;
}

/** SQS answered with an error that waiting does not mend. */
export class SqsReplyError extends OnqueueError<SqsReply> implements Consequential {
  readonly code = 'E_SQS_REPLY';

  constructor(facts: SqsReply, options: { cause?: unknown } = {}) {
    super(
      `SQS at ${facts.address} refused ${facts.operation} on '${facts.queue}' with ${facts.reply} (${facts.message}); ` +
        `${facts.consequence}. Look at the queue's settings, and run \`onqueue check\`.`,
      facts,
      options,
    );
  }

  withConsequence(consequence: string): SqsReplyError {
    return new SqsReplyError({ ...this.facts, consequence }, { cause: this.cause });
  }
}

/** There is no such queue. SQS makes none by itself. */
export class SqsQueueMissingError extends OnqueueError<Place> implements Consequential {
  readonly code = 'E_SQS_QUEUE_MISSING';

  constructor(facts: Place, options: { cause?: unknown } = {}) {
    const name = facts.queue.replace(/^.*\//, '');
    const attributes = name.endsWith('.fifo') ? ' --attributes FifoQueue=true' : '';
    super(
      `SQS at ${facts.address} has no queue '${facts.queue}'; ${facts.consequence}. Create it ` +
        `(aws sqs create-queue --queue-name ${name}${attributes}), or correct region, prefix or suffix of connection ` +
        `'${facts.connection}'.`,
      facts,
      options,
    );
  }

  withConsequence(consequence: string): SqsQueueMissingError {
    return new SqsQueueMissingError({ ...this.facts, consequence }, { cause: this.cause });
  }
}

/** SQS took some entries of a push, and not the others. */
export class SqsPartialPushError extends OnqueueError<{
  readonly connection: string;
  readonly queue: string;
  readonly total: number;
  /** Places of those that are not in, from 0. */
  readonly refused: readonly number[];
}> {
  readonly code = 'E_SQS_PARTIAL_PUSH';

  constructor(connection: string, queue: string, total: number, refused: readonly number[], options: { cause: Error }) {
    super(
      `Of ${total} jobs for queue '${queue}' of connection '${connection}' ${refused.length} were not queued, the others ` +
        `were: ${options.cause.message} facts.refused says which; send only those again.`,
      { connection, queue, total, refused },
      options,
    );
  }
}

/** A delay on a FIFO queue, of which SQS cannot hold back single messages. */
export class SqsFifoDelayError extends OnqueueError<{ readonly connection: string; readonly queue: string }> {
  readonly code = 'E_SQS_FIFO_DELAY';

  constructor(connection: string, queue: string) {
    super(
      `Nothing was queued: '${queue}' of connection '${connection}' is a FIFO queue, and SQS delays no single job of ` +
        'those. Dispatch without a delay, or to a standard queue; DelaySeconds of the queue itself delays all its jobs.',
      { connection, queue },
    );
  }
}

/** A queue is cleared at most once in 60 seconds. */
export class SqsPurgeInProgressError extends OnqueueError<{ readonly connection: string; readonly queue: string }> {
  readonly code = 'E_SQS_PURGE_IN_PROGRESS';

  constructor(connection: string, queue: string, options: { cause?: unknown } = {}) {
    super(
      `Queue '${queue}' of connection '${connection}' was cleared less than 60 seconds ago, and SQS clears it no sooner ` +
        'than that again. What was dispatched since is still there; try again in a minute.',
      { connection, queue },
      options,
    );
  }
}
