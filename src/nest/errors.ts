/** Errors of `onqueue/nest`. */
import { OnqueueError } from '../index';
import { defineError } from '../base/onqueue-error';

export const nestMissing = (peer: string, cause: unknown): OnqueueError =>
  new OnqueueError('E_MISSING_PEER', {
    message: `onqueue/nest needs the package ${peer}, which cannot be loaded. Run: npm install ${peer}`,
    facts: { peer },
    cause,
  });

export const moduleMisused = defineError('E_QUEUE_MODULE', (problem: string, remedy: string) => ({
  message: `QueueModule: ${problem}. ${remedy}.`,
  facts: { problem },
}));

/** Two modules would take the queues from one another. */
export const secondModule = (): OnqueueError =>
  new OnqueueError('E_ALREADY_CONFIGURED', {
    message:
      'There is a QueueModule in this process already, and both would have the same queues. Put one around the outermost module; in tests, close the application before the next one: await app.close().',
  });
