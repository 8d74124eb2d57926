/** `Middleware`: wraps a run. The decorator of the same name lets instances of a class travel with a dispatch. */
import { declaredIn } from '../base/declared-in';
import { checkOwnName } from './declare';
import type { Class } from './definition';
import { invalidJobClass } from './errors';
import type { JobContext } from './job-context';
import { registry } from './registry';

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
