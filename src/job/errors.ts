/** What can be wrong with a job: its declaration, its options, its names, an instance of it, or the use of `this`. */
import { parse } from 'node:path';
import { OnqueueError } from '../base/onqueue-error';
import { relativeFile } from '../base/declared-in';
import { valueText } from '../base/value-text';

/** A class as errors name it: with the file that declares it, where a stack could tell. */
export function placed(name: string, file: string | undefined): string {
  return file === undefined ? name : `${name} (${relativeFile(file)})`;
}

// At the end of a message: where the class stands that it speaks of.
function inFile(file: string | undefined): string {
  return file === undefined ? '' : ` (${relativeFile(file)})`;
}

function orList(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(' or ');
}

/** A value that is no duration. */
export class InvalidDurationError extends OnqueueError<{ readonly value: unknown; readonly subject: string }> {
  readonly code = 'E_INVALID_DURATION';

  constructor(value: unknown, subject: string, meant: string | undefined) {
    super(
      `${subject}: ${valueText(value)} is no duration. Write '${meant ?? '2m'}' (units: ms, s, m, h, d), or a number of seconds.`,
      { value, subject },
    );
  }
}

/** A queue name that a store could not keep apart from its own keys, or a list in one text. */
export class InvalidQueueNameError extends OnqueueError<{ readonly queue: unknown; readonly subject: string }> {
  readonly code = 'E_INVALID_QUEUE_NAME';

  constructor(queue: unknown, subject: string, problem: string) {
    super(`${subject}: ${valueText(queue)} is no queue name: ${problem}.`, { queue, subject });
  }
}

/** An option that `@Job()` does not know. */
export class UnknownJobOptionError extends OnqueueError<{
  readonly job: string;
  readonly option: string;
  readonly suggestions: readonly string[];
}> {
  readonly code = 'E_UNKNOWN_JOB_OPTION';

  /** @param meant what there is in its place, for those who know it from another queue */
  constructor(job: string, option: string, suggestions: readonly string[], known: readonly string[], meant?: string) {
    const otherwise = suggestions.length > 0 ? `did you mean ${orList(suggestions)}?` : `it knows ${known.join(', ')}.`;
    const hint = meant === undefined ? otherwise : `${meant}.`;
    super(`@Job on ${job}: unknown option \`${option}\`; ${hint}`, { job, option, suggestions });
  }
}

/** An option with a value that it cannot have, in `@Job()` or from a method of the instance. */
export class InvalidJobOptionError extends OnqueueError<{ readonly subject: string; readonly value: unknown }> {
  readonly code = 'E_INVALID_JOB_OPTION';

  /** @param subject the option and whose it is: "tries on SendEmail" */
  constructor(subject: string, value: unknown, remedy: string) {
    super(`${subject}: ${valueText(value)} will not do. ${remedy}`, { subject, value });
  }
}

/** A class that cannot be a job as it is written. */
export class InvalidJobClassError extends OnqueueError<{ readonly job: string; readonly file: string | undefined }> {
  readonly code = 'E_INVALID_JOB_CLASS';

  constructor(job: string, file: string | undefined, problem: string) {
    super(`${placed(job, file)} ${problem}`, { job, file });
  }
}

/** A class that claims a name: what it is called, where it stands, and the decorator that it bears. */
export interface NamedClass {
  readonly name: string;
  readonly file: string | undefined;
  readonly decorator: 'Job' | 'Middleware';
}

/** Two classes claim one name. */
export class DuplicateJobError extends OnqueueError<{
  readonly name: string;
  readonly classes: readonly [string, string];
  readonly files: readonly [string | undefined, string | undefined];
}> {
  readonly code = 'E_DUPLICATE_JOB';

  constructor(name: string, first: NamedClass, second: NamedClass) {
    super(
      `Two classes claim the name '${name}': ${placed(first.name, first.file)} and ${placed(second.name, second.file)}. ` +
        duplicateRemedy(first, second),
      { name, classes: [first.name, second.name], files: [first.file, second.file] },
    );
  }
}

function duplicateRemedy(
  { name, file: first }: NamedClass,
  { name: other, file: second, decorator }: NamedClass,
): string {
  const rename = `Give one of them another: @${decorator}({ name: '…' }).`;
  if (name !== other || first === undefined || second === undefined) return rename;
  if (!isBuildOf(first, second) && !isBuildOf(second, first)) return rename;
  return (
    'It seems to be one class that was loaded twice, as source and as build. Load one of them only: ' +
    'a compiled program imports its compiled configuration and begins with Queue.configure(configuration); ' +
    'commands are given it by --config dist/onqueue.config.js.'
  );
}

function isBuildOf(build: string, source: string): boolean {
  const [built, written] = [parse(build), parse(source)];
  return built.name === written.name && /^\.[cm]?js$/.test(built.ext) && /^\.[cm]?tsx?$/.test(written.ext);
}

/** A copy of the package, by where it lies. */
interface Copy {
  readonly version: string;
  readonly file: string;
}

/** Two versions of the package are in one process: what one of them knows of jobs, the other does not. */
export class TwoVersionsError extends OnqueueError<{
  readonly versions: readonly [string, string];
  readonly files: readonly [string, string];
}> {
  readonly code = 'E_TWO_VERSIONS';

  constructor(first: Copy, second: Copy) {
    super(
      `onqueue ${placed(first.version, first.file)} is in this process already, and onqueue ${placed(second.version, second.file)} ` +
        "cannot share jobs with it. Install one version, and leave it out of bundles ('external').",
      { versions: [first.version, second.version], files: [first.file, second.file] },
    );
  }
}

/** A class that cannot handle the job it was declared for. */
export class InvalidHandlerError extends OnqueueError<{
  readonly handler: string;
  readonly job: string | undefined;
  readonly file: string | undefined;
}> {
  readonly code = 'E_INVALID_HANDLER';

  /** @param by what joined the two */
  constructor(
    handler: string,
    job: string | undefined,
    file: string | undefined,
    problem: string,
    by: '@Handles on' | 'Bus.map to' = '@Handles on',
  ) {
    super(`${by} ${placed(handler, file)}: ${problem}`, { handler, job, file });
  }
}

/** Something was dispatched whose class bears no `@Job()` of its own. */
export class UndecoratedJobError extends OnqueueError<{ readonly job: string; readonly parent: string | undefined }> {
  readonly code = 'E_UNDECORATED_JOB';

  constructor(
    job: string,
    extendsJob: boolean,
    parent: { readonly name: string; readonly file: string | undefined } | undefined,
  ) {
    const what = extendsJob ? `${job} extends Job but has no @Job()` : `${job} is no job: it has no @Job()`;
    const only = parent === undefined ? '.' : `; only its parent ${placed(parent.name, parent.file)} has.`;
    super(
      `${what}${only} Add @Job() above class ${job}${parent?.name === job ? ', above its other decorators' : ''}.`,
      {
        job,
        parent: parent?.name,
      },
    );
  }
}

/** A class in place of an instance was dispatched, or what no class with `@Job()` made. */
export class NotAJobError extends OnqueueError<{ readonly value: string }> {
  readonly code = 'E_NOT_A_JOB';

  /** @param value what was dispatched; of an object nothing is quoted, for it may be anybody's data */
  constructor(value: unknown, expected: 'a job' | 'a list of jobs' = 'a job') {
    super(
      expected === 'a job'
        ? notAJob(value)
        : `${kindOf(value)} is no list of jobs. Give them in one: [new SendEmail(…)].`,
      {
        value: typeof value,
      },
    );
  }
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  return typeof value === 'object' ? 'An object' : `A ${typeof value}`;
}

function notAJob(value: unknown): string {
  if (typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))) {
    return `${value.name || 'class'}: this is the class, and a job is an instance of it. Write new ${value.name}(…).`;
  }
  return `${typeof value === 'object' && value !== null ? 'A plain object' : kindOf(value)} is no job. Write a class with @Job() above it, and dispatch an instance: new SendEmail(…).`;
}

/** An own property of a job that has another meaning to Onqueue. */
export class ReservedPropertyError extends OnqueueError<{ readonly job: string; readonly property: string }> {
  readonly code = 'E_RESERVED_PROPERTY';

  constructor(job: string, property: string, meanings: string, file?: string) {
    super(`${job} has an own property \`${property}\`. ${meanings}${inFile(file)}`, { job, property });
  }
}

/** `handle`, `failed` or another method of a job is a function in a field. */
export class MethodInFieldError extends OnqueueError<{ readonly job: string; readonly method: string }> {
  readonly code = 'E_METHOD_IN_FIELD';

  constructor(job: string, method: string, file?: string) {
    super(
      `${job}.${method} is an arrow function in a field: write it as a method. Fields are data, and a queue cannot carry a function.${inFile(file)}`,
      { job, method },
    );
  }
}

/** `this.job` or one of its shorts was used while the job does not run. */
export class NotRunningError extends OnqueueError<{ readonly job: string; readonly member: string }> {
  readonly code = 'E_NOT_RUNNING';

  constructor(job: string, member: string) {
    super(
      `${job}.${member} is there only while the job runs, in handle(), failed() and middleware(): what was dispatched here is ` +
        'only data. (In a test, run the job through the test kit.)',
      { job, member },
    );
  }
}

/** A job was dispatched and nothing was set up to send it. */
export class NoDispatcherError extends OnqueueError {
  readonly code = 'E_NO_DISPATCHER';

  constructor() {
    super("Jobs cannot be dispatched yet: import from 'onqueue', not from a file inside the package.", {});
  }
}

/** A job class that has neither a `handle()` nor a handler. */
export class NoHandlerError extends OnqueueError<{ readonly job: string }> {
  readonly code = 'E_NO_HANDLER';

  constructor(job: string) {
    super(`${job} has no handle(), and no class is decorated with @Handles(${job}). Write one of the two.`, { job });
  }
}
