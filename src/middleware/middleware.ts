/** `Middleware`: what wraps a run, and the decorator that lets an instance of its class travel with a dispatch. */
import { declaredIn } from '../job/declared-in';
import type { Class } from '../job/definition';
import type { Middleware as Wrapper } from '../job/middleware';
import { registry } from '../job/registry';

/**
 * What wraps a run, onion-shaped. A job's own `middleware()` may give any object or function of this kind; one given to
 * a dispatch by `through()` travels as data, so its class needs `@Middleware()`.
 */
export interface Middleware extends Wrapper {}

/**
 * Lets instances of the class below travel in payloads. Their fields are data, as a job's are.
 *
 * @param options.name what the class is called in payloads; by default its name
 * @throws DuplicateJobError jobs and middleware share one space of names
 */
export function Middleware(
  options: { readonly name?: string | undefined } = {},
  // Typed more tightly, it refuses classes with a private constructor.
  // oxlint-disable-next-line typescript/no-explicit-any
): <C extends Class<Wrapper>>(target: C, context?: ClassDecoratorContext<any>) => C {
  return function decorate(target) {
    registry().registerMiddleware(options.name ?? target.name, target, declaredIn(decorate));
    return target;
  };
}
