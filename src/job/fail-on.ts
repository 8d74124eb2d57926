/** `failOn`: a middleware for a job's `middleware()` that ends its tries. */
import { invalidMiddlewareArgument } from './errors';
import type { Middleware } from './middleware';

/** A class of errors, possibly abstract. */
export type ErrorClass = abstract new (...parameters: never[]) => Error;

/**
 * Fails the job at once, whatever its tries, if it throws an instance of one of these classes or of a subclass. An error's
 * `cause` does not count: whoever wrapped it gave it another meaning.
 *
 * @throws E_INVALID_MIDDLEWARE_ARGUMENT
 */
export function failOn(...classes: readonly ErrorClass[]): Middleware {
  if (classes.length === 0) throw invalidMiddlewareArgument('failOn()', undefined, REMEDY);
  for (const one of classes) if (!isErrorClass(one)) throw invalidMiddlewareArgument('failOn()', one, REMEDY);
  return {
    async handle(job, next) {
      try {
        return await next();
      } catch (error) {
        // An error thrown because the job was told to stop says nothing about its tries.
        if (!job.signal.aborted && classes.some((one) => error instanceof one)) job.fail(error as Error);
        throw error;
      }
    },
  };
}

const REMEDY = 'Give error classes as separate arguments: failOn(CardRefused, NoSuchUser).';

// Not checked with `instanceof`: in a test runner the errors of Node.js come from another realm.
function isErrorClass(value: unknown): boolean {
  if (typeof value !== 'function') return false;
  const { prototype } = value as { readonly prototype: unknown };
  return typeof prototype === 'object' && prototype !== null && 'message' in prototype;
}
