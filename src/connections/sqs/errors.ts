/** Errors that only SQS answers with. An SQS that does not answer is a `QueueUnavailableError`, as with every store. */
import { defineError } from '../../base/onqueue-error';
import type { Unserved } from '../errors';

interface Place extends Unserved {
  /** The queue's name, or its URL if that is known. */
  readonly queue: string;
}

export interface SqsReply extends Place {
  /** The action of the API: `SendMessageBatch`. */
  readonly operation: string;
  /** SQS's own code: `OverLimit`. */
  readonly reply: string;
  /** SQS's explanation. */
  readonly message: string;
}

/** SQS answered with an error that does not go away by itself. */
export const sqsReply = defineError('E_SQS_REPLY', (facts: SqsReply, { cause }: ErrorOptions = {}) => ({
  message:
    `SQS at ${facts.address} refused ${facts.operation} on '${facts.queue}' with ${facts.reply} (${facts.message}); ` +
    `${facts.consequence}. Look at the queue's settings, and run \`onqueue check\`.`,
  facts,
  cause,
}));

/** There is no such queue, and SQS creates none by itself. */
export const sqsQueueMissing = defineError('E_SQS_QUEUE_MISSING', (facts: Place, { cause }: ErrorOptions = {}) => {
  const { address, connection, queue, consequence } = facts;
  const name = queue.replace(/^.*\//, '');
  const attributes = name.endsWith('.fifo') ? ' --attributes FifoQueue=true' : '';
  return {
    message:
      `SQS at ${address} has no queue '${queue}'; ${consequence}. Create it ` +
      `(aws sqs create-queue --queue-name ${name}${attributes}), or correct region, prefix or suffix of connection '${connection}'.`,
    facts,
    cause,
  };
});

/** SQS took some entries of a push, but not all. `refused`: the indexes of the others. */
export const sqsPartialPush = defineError(
  'E_SQS_PARTIAL_PUSH',
  (connection: string, queue: string, total: number, refused: readonly number[], cause: Error) => ({
    message:
      `Of ${total} jobs for queue '${queue}' of connection '${connection}' ${refused.length} were not queued, the others ` +
      `were: ${cause.message} facts.refused says which; send only those again.`,
    facts: { connection, queue, total, refused },
    cause,
  }),
);

export const sqsFifoDelay = defineError('E_SQS_FIFO_DELAY', (connection: string, queue: string) => ({
  message:
    `Nothing was queued: '${queue}' of connection '${connection}' is a FIFO queue, and SQS delays no single job of ` +
    'those. Dispatch without a delay, or to a standard queue; DelaySeconds of the queue itself delays all its jobs.',
  facts: { connection, queue },
}));

/** A queue can be cleared only once in 60 seconds. */
export const sqsPurgeInProgress = defineError(
  'E_SQS_PURGE_IN_PROGRESS',
  (connection: string, queue: string, cause: unknown) => ({
    message:
      `Queue '${queue}' of connection '${connection}' was cleared less than 60 seconds ago, and SQS clears it no sooner ` +
      'than that again. What was dispatched since is still there; try again in a minute.',
    facts: { connection, queue },
    cause,
  }),
);
