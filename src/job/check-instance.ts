/** What can only be seen on an instance, when it is dispatched: fields that mean something else than data. */
import { extendsJob, hiddenMember, hidesMember } from './base';
import type { JobDefinition } from './definition';
import { MethodInFieldError, ReservedPropertyError } from './errors';

/** An own property of these names reads like the option. `name` and `version` (and `id`) are always data. */
const OPTIONS: ReadonlySet<string> = new Set([
  'connection',
  'queue',
  'delay',
  'tries',
  'backoff',
  'timeout',
  'failOnTimeout',
  'maxCrashes',
  'maxExceptions',
  'retryUntil',
  'middleware',
]);

const METHODS: ReadonlySet<string> = new Set([
  'handle',
  'failed',
  'middleware',
  'tries',
  'timeout',
  'backoff',
  'retryUntil',
  'queue',
]);

/** How the option is chosen for one instance, where a method of its name is not the way. */
const BUILDERS: Readonly<Record<string, string>> = {
  connection: 'onConnection()',
  queue: 'onQueue()',
  delay: 'delay()',
  tries: 'a method tries()',
  backoff: 'a method backoff()',
  timeout: 'a method timeout()',
  retryUntil: 'a method retryUntil()',
  middleware: 'a method middleware()',
};

/** @throws ReservedPropertyError, MethodInFieldError */
export function checkInstance(job: object, definition: JobDefinition): void {
  const { file, target } = definition;
  const { name } = target;
  const inherits = extendsJob(target);
  for (const property of Object.keys(job)) {
    if (METHODS.has(property) && typeof Reflect.get(job, property) === 'function') {
      throw new MethodInFieldError(name, property, file);
    }
    if (OPTIONS.has(property)) throw new ReservedPropertyError(name, property, bothMeanings(property), file);
    if (inherits && hidesMember(property)) throw hiddenMember(name, property, file);
  }
}

function bothMeanings(option: string): string {
  const forAll = option === 'middleware' ? '' : `@Job({ ${option}: … })`;
  const ways = [forAll, BUILDERS[option] ?? ''].filter((way) => way !== '').join(' or ');
  return `If it is the job's option, write ${ways} instead; if it is data, give it another name.`;
}
