/** `Middleware`: what wraps a run, and the decorator that lets an instance of its class travel with a dispatch. */
import { checkOwnName } from './declare';
import { declaredIn } from '../base/declared-in';
import type { Class } from './definition';
import { invalidJobClass } from './errors';
import type { Middleware as Wrapper } from './middleware';
import { registry } from './registry';

/**
 * What wraps a run, onion-shaped. A job's own `middleware()` may give any object or function of this kind; one given to
 * a dispatch by `through()` travels as data, so its class needs `@Middleware()`.
 */
export interface Middleware extends Wrapper {}

/**
 * Lets instances of the class below travel in payloads. Their fields are data, as a job's are.
 *
 * @param options.name what the class is called in payloads; by default its name
 * @throws E_DUPLICATE_JOB jobs and middleware share one space of names
 * @throws E_INVALID_JOB_CLASS it has no `handle()`, or the options are none
 */
export function Middleware(
  options: { readonly name?: string | undefined } = {},
  // Typed more tightly, it refuses classes with a private constructor.
  // oxlint-disable-next-line typescript/no-explicit-any
): <C extends Class<Wrapper>>(target: C, context?: ClassDecoratorContext<any>) => C {
  if (typeof options === 'function') {
    const problem = 'bears @Middleware without brackets. Write @Middleware().';
    throw invalidJobClass((options as Class).name, declaredIn(Middleware), problem);
  }
  return function decorate(target) {
    const problem = problemOf(target, options);
    if (problem !== undefined) throw invalidJobClass(target.name, declaredIn(decorate), problem);
    if (options.name === undefined) checkOwnName(target.name, declaredIn(decorate));
    registry().registerMiddleware(options.name ?? target.name, target, declaredIn(decorate));
    return target;
  };
}

function problemOf({ prototype }: Class, options: object): string | undefined {
  const unknown = Object.keys(options).find((option) => option !== 'name');
  if (unknown !== undefined) return `has an unknown option in @Middleware: ${unknown}. There is name alone.`;
  const { name = '' } = options as { readonly name?: unknown };
  if (typeof name !== 'string') return 'has a name in @Middleware that is no text.';
  const { handle } = Object(prototype) as { readonly handle?: unknown };
  return typeof handle === 'function' ? undefined : 'bears @Middleware, but has no method handle(job, next).';
}
