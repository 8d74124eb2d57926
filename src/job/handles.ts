/** `@Handles(SomeJob)`: the class below runs jobs whose own classes contain no behaviour. */
import type { OnqueueError } from '../base/onqueue-error';
import { checkInjection } from '../container/parameters';
import { makeResolvable } from '../container/tsyringe-scope';
import { declaredIn } from '../base/declared-in';
import type { Class } from './definition';
import { invalidHandler } from './errors';
import { registry } from './registry';

/** What a handler of `J` looks like; injected parameters come after the job. */
export interface HandlerOf<J> {
  // A property, not a method, so that TypeScript compares the job's type strictly.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly handle: (job: J, ...injected: any[]) => unknown;
}

/**
 * @throws E_INVALID_HANDLER, and the errors of injection
 */
export function Handles<J extends object>(
  job: Class<J>,
  // oxlint-disable-next-line typescript/no-explicit-any
): (target: Class<HandlerOf<J>>, context?: ClassDecoratorContext<any>) => void {
  return function decorate(target) {
    const file = declaredIn(decorate);
    const refuse = (problem: string): OnqueueError => invalidHandler(target.name, job?.name, file, problem);
    if (job === undefined) {
      throw refuse('the job class is undefined. Two files import each other: move the job into a file of its own.');
    }
    const definition = registry().definitionOf(job);
    if (definition === undefined) throw refuse(`${job.name} has no @Job(). Add it above class ${job.name}.`);
    if ('handle' in job.prototype) throw refuse(`${job.name} has a handle() of its own. Remove one of the two.`);
    if (!hasHandle(target)) throw refuse('it has no method handle(). (An arrow function in a field does not count.)');
    checkInjection(target, 'handler', file);
    makeResolvable(target);
    registry().setHandler(job, target, file);
  };
}

/** Whether the class has a method `handle`. A field does not exist before there is an instance. */
export function hasHandle(handler: Class): boolean {
  return handler.prototype !== undefined && typeof Reflect.get(handler.prototype, 'handle') === 'function';
}
