/** Errors of the test kit itself. Faults that a test finds are `AssertionError`s instead. */
import { errorClass } from '../base/onqueue-error';

/** `Queue.fake()` was called while another fake was in place. The cause's stack shows where that fake was made. */
export class AlreadyFakedError extends errorClass('E_ALREADY_FAKED', (cause: unknown) => ({
  message:
    'Queue is already faked, and the jobs of one test would be found by another. Restore the first fake before: with ' +
    '`using queue = Queue.fake()`, or queue.restore() in afterEach.',
  cause,
})) {}

/** `drain()` reached its limit of runs, and there were still more. */
export class EndlessDrainError extends errorClass(
  'E_ENDLESS_DRAIN',
  /** @param job the name of the job that ran most often */
  (limit: number, job: string, times: number) => ({
    message:
      `drain() stopped after ${limit} runs, ${times} of them of ${job}, and there was still work. Does it release or ` +
      'dispatch itself for ever? If not, give drain() a higher limit.',
    facts: { limit, job },
  }),
) {}
