/** What can go wrong where somebody asks to hear what happens. */
import { OnqueueError } from '../../base/onqueue-error';

/** What was to be called is no function; it would be found out when the first job runs, or never. */
export class InvalidHookError extends OnqueueError<{ readonly hook: string; readonly given: string }> {
  readonly code = 'E_INVALID_HOOK';

  constructor(hook: string, value: unknown) {
    const given = named(value);
    super(`Queue.${hook}() was given ${given} in place of a function. Write Queue.${hook}((…) => { … }).`, {
      hook,
      given,
    });
  }
}

function named(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
