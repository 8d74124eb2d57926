/** `Middleware`: wraps a run. The decorator of the same name lets instances of a class travel with a dispatch. `failOn`, `skipIf` and `skipUnless` come with Onqueue. */
import { declaredIn, type Class } from '../base/class';
import { checkOwnName, registry } from './registry';
import { invalidJobClass, invalidMiddlewareArgument } from './errors';
import type { JobContext } from './job-context';

/**
 * Wraps a run, like a layer of an onion. A job's own `middleware()` may return any object or function of this kind; one given to
 * a dispatch by `through()` travels as data, so its class needs `@Middleware()`.
 */
export interface Middleware {
  /**
   * Call `next` to go on. If it returns without calling `next`, the job counts as completed unless it was released or failed.
   * Further parameters with `@Inject` are resolved within the run.
   */
  handle(job: JobContext, next: () => Promise<unknown>, ...injected: never[]): unknown;
}

export type MiddlewareFunction = Middleware['handle'];

/**
 * Lets instances of the class below travel in payloads. Their fields are data, as a job's are.
 *
 * @param options.name the name of the class in payloads; default: the class's own
 * @throws E_DUPLICATE_JOB jobs and middleware share one namespace
 * @throws E_INVALID_JOB_CLASS the class has no `handle()`, or the options are not valid
 */
export function Middleware(
  options: { readonly name?: string | undefined } = {},
  // A tighter type would refuse classes with a private constructor.
  // oxlint-disable-next-line typescript/no-explicit-any
): <C extends Class<Middleware>>(target: C, context?: ClassDecoratorContext<any>) => C {
  if (typeof options === 'function') {
    const problem = 'has @Middleware without brackets. Write @Middleware().';
    throw invalidJobClass((options as Class).name, declaredIn(Middleware), problem);
  }
  return function decorate(target) {
    const problem = problemOf(target, options);
    if (problem !== undefined) throw invalidJobClass(target.name, declaredIn(decorate), problem);
    if (options.name === undefined) checkOwnName(target.name, declaredIn(decorate));
    registry().registerData(options.name ?? target.name, target, 'Middleware', declaredIn(decorate));
    return target;
  };
}

function problemOf({ prototype }: Class, options: object): string | undefined {
  const unknown = Object.keys(options).find((option) => option !== 'name');
  if (unknown !== undefined) return `has an unknown option in @Middleware: ${unknown}. The only option is name.`;
  const { name = '' } = options as { readonly name?: unknown };
  if (typeof name !== 'string') return 'has a name in @Middleware that is not a string.';
  const { handle } = Object(prototype) as { readonly handle?: unknown };
  return typeof handle === 'function' ? undefined : 'has @Middleware, but no method handle(job, next).';
}

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

/** A class of errors, possibly abstract. */
export type ErrorClass = abstract new (...parameters: never[]) => Error;

/** Which errors are meant: those of a class and its subclasses, or those for which a function returns true. */
export type ErrorTest = ErrorClass | ((error: Error) => boolean);

/**
 * Fails the job at once, whatever its tries, if it throws an error that one of these means. An error's `cause` does not count
 * for a class: whoever wrapped it gave it another meaning.
 *
 * @throws E_INVALID_MIDDLEWARE_ARGUMENT
 */
export function failOn(...tests: readonly ErrorTest[]): Middleware {
  const isMeant = errorTest('failOn()', tests, FAIL_ON);
  return {
    async handle(job, next) {
      try {
        return await next();
      } catch (error) {
        // An error thrown because the job was told to stop says nothing about its tries.
        if (!job.signal.aborted && isMeant(error)) job.fail(error as Error);
        throw error;
      }
    },
  };
}

const FAIL_ON =
  'Give error classes, or functions of the error, as separate arguments: failOn(CardRefused, (error) => isLasting(error)).';

/** Whether an error is one of those meant. @throws E_INVALID_MIDDLEWARE_ARGUMENT */
export function errorTest(layer: string, given: readonly unknown[], remedy: string): (error: unknown) => boolean {
  if (given.length === 0) throw invalidMiddlewareArgument(layer, undefined, remedy);
  const tests = given.map((test) => {
    if (isErrorClass(test)) return (error: unknown) => error instanceof test;
    if (!isPlainFunction(test)) throw invalidMiddlewareArgument(layer, test, remedy);
    return (error: unknown) => {
      const answer: unknown = test(error);
      if (typeof answer === 'boolean') return answer;
      // Its own error would not be seen otherwise.
      throw Object.assign(invalidMiddlewareArgument(`The function of ${layer}`, answer, ANSWER), { cause: error });
    };
  });
  return (error) => tests.some((isMeant) => isMeant(error));
}

// Not checked with `instanceof`: in a test runner the errors of Node.js come from another realm.
export function isErrorClass(value: unknown): value is ErrorClass {
  if (typeof value !== 'function') return false;
  const { prototype } = value as { readonly prototype: unknown };
  return typeof prototype === 'object' && prototype !== null && 'message' in prototype;
}

// A class is a function too, but its prototype is not writable.
export function isPlainFunction(value: unknown): value is (...given: unknown[]) => unknown {
  return typeof value === 'function' && Object.getOwnPropertyDescriptor(value, 'prototype')?.writable !== false;
}
