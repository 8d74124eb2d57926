/** Declares and encodes the jobs that are part of Onqueue: they are retried until they succeed. */
import { declareJob } from '../../job/declare';
import type { Class } from '../../job/definition';
import { type JobRegistry, registry } from '../../job/registry';
import { encodePayload } from '../../payload/payload-text';

const OPTIONS = { tries: 0, timeout: 0, backoff: { exponential: '1s', max: '1m' } } as const;

/** Called before the first job runs, not when a module is loaded: a second version of Onqueue is reported by its first job. */
export function declareBuiltIn(target: Class, name: string): void {
  if (registry().definitionOf(target) === undefined)
    declareJob(target, { name, ...OPTIONS }, declareBuiltIn, 'built-in');
}

/** Without size limits and additional fields: an error here would fail a job that has already completed. */
export function builtInText(job: object, id: string, classes: JobRegistry): string {
  return encodePayload({ definition: classes.definitionOf(job.constructor)!, job, chosen: {}, id, classes });
}
