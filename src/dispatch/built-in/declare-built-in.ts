/** Declares the jobs that are part of Onqueue: they are retried until they succeed. */
import { declareJob } from '../../job/declare';
import type { Class } from '../../job/definition';
import { registry } from '../../job/registry';

const OPTIONS = { tries: 0, timeout: 0, backoff: { exponential: '1s', max: '1m' } } as const;

/** Called before the first job runs, not when a module is loaded: a second version of Onqueue is reported by its first job. */
export function declareBuiltIn(target: Class, name: string): void {
  if (registry().definitionOf(target) === undefined) declareJob(target, { name, ...OPTIONS }, declareBuiltIn, true);
}
