/** `skipIf` and `skipUnless`: middleware for a job's `middleware()` that completes it without running it. */
import { invalidMiddlewareArgument } from './errors';
import type { JobContext } from './job-context';
import type { Middleware } from './middleware';

/** A value known when `middleware()` is called, or a function called when the run reaches the middleware. */
export type SkipCondition = boolean | ((job: JobContext) => boolean | Promise<boolean>);

/**
 * Completes the job without running it if the condition holds; its chain goes on.
 *
 * @throws E_INVALID_MIDDLEWARE_ARGUMENT
 */
export function skipIf(condition: SkipCondition): Middleware {
  return skipping('skipIf()', condition, true);
}

/**
 * Completes the job without running it unless the condition holds; its chain goes on.
 *
 * @throws E_INVALID_MIDDLEWARE_ARGUMENT
 */
export function skipUnless(condition: SkipCondition): Middleware {
  return skipping('skipUnless()', condition, false);
}

function skipping(layer: string, condition: SkipCondition, skipsOn: boolean): Middleware {
  if (typeof condition !== 'boolean' && typeof condition !== 'function') {
    const isPromise = typeof condition === 'object' && condition !== null && 'then' in condition;
    const remedy = isPromise ? `Give the function itself: ${layer.slice(0, -1)}() => isOpen()).` : CONDITION;
    throw invalidMiddlewareArgument(layer, condition, remedy);
  }
  return {
    async handle(job, next) {
      const answer: unknown = typeof condition === 'function' ? await condition(job) : condition;
      // A condition that forgot to return must not count as a no: the job would be gone without having run.
      if (typeof answer !== 'boolean') throw invalidMiddlewareArgument(`The condition of ${layer}`, answer, ANSWER);
      return answer === skipsOn ? undefined : next();
    },
  };
}

const CONDITION = 'Give true, false, or a function that returns one of them.';
const ANSWER = 'Return true or false.';
