/** What can go wrong with the test kit itself. What a test finds wrong is an `AssertionError` instead. */
import { errorClass } from '../base/define-error';

/** `Queue.fake()` was called while another fake was in place. The cause's stack shows where that one was made. */
export class AlreadyFakedError extends errorClass('E_ALREADY_FAKED', (cause: unknown) => ({
  message:
    'Queue is faked already, and the jobs of one test would be found by another. Restore the first fake before: by ' +
    '`using queue = Queue.fake()`, or queue.restore() in afterEach.',
  cause,
})) {}

/** `drain()` ran its limit of jobs, and there were still more. */
export class EndlessDrainError extends errorClass(
  'E_ENDLESS_DRAIN',
  /** @param job the name of the one that ran most often */
  (limit: number, job: string, times: number) => ({
    message:
      `drain() stopped after ${limit} runs, ${times} of them of ${job}, and there was still work. Does it release or ` +
      'dispatch itself for ever? If not, give drain() a higher limit.',
    facts: { limit, job },
  }),
) {}
