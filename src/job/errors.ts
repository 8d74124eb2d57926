/** Errors of a job: its declaration, its options, its names, an instance of it, or the use of `this`. */
import { parse } from 'node:path';
import { relativeFile } from '../base/class';
import { defineError } from '../base/onqueue-error';
import { invalidValue, valueText } from '../base/text';

/** How errors name a class: with the file that declares it, if the stack told. */
export function placed(name: string, file: string | undefined): string {
  return file === undefined ? name : `${name} (${relativeFile(file)})`;
}

// Ends a message with the file of the class.
function inFile(file: string | undefined): string {
  return file === undefined ? '' : ` (${relativeFile(file)})`;
}

/** The value is not a duration. */
export const invalidDuration = defineError(
  'E_INVALID_DURATION',
  (value: unknown, subject: string, meant?: string, problem?: string) => ({
    message: `${subject}: ${valueText(value)} ${problem ?? 'is not a duration'}. Write '${meant ?? '2m'}' (units: ms, s, m, h, d), or a number of seconds.`,
    facts: { value, subject },
  }),
);

/** A queue name that a store could confuse with its own keys or with a list of queues. */
export const invalidQueueName = defineError(
  'E_INVALID_QUEUE_NAME',
  (queue: unknown, subject: string, problem: string) => ({
    message: `${subject}: ${valueText(queue)} is not a valid queue name: ${problem}.`,
    facts: { queue, subject },
  }),
);

/** The decorator of a class of jobs. */
export type JobDecoratorName = 'Job' | 'Listens';

/** `@Job()` does not know the option. `meant`: our equivalent, for people who know the option from another queue. */
export const unknownJobOption = defineError(
  'E_UNKNOWN_JOB_OPTION',
  (
    job: string,
    option: string,
    suggestions: readonly string[],
    known: readonly string[],
    meant?: string,
    decorator: JobDecoratorName = 'Job',
  ) => {
    const words = suggestions.map((word) => `\`${word}\``).join(' or ');
    const otherwise = suggestions.length > 0 ? `did you mean ${words}?` : `it knows ${known.join(', ')}.`;
    const hint = meant === undefined ? otherwise : `${meant}.`;
    return {
      message: `@${decorator} on ${job}: unknown option \`${option}\`; ${hint}`,
      facts: { job, option, suggestions },
    };
  },
);

/** The option cannot have this value, in `@Job()` or from a method of the instance: "tries on SendEmail". */
export const invalidJobOption = defineError('E_INVALID_JOB_OPTION', invalidValue);

/** A middleware of ours was given a value it cannot use, or its function returned one: "skipIf()". */
export const invalidMiddlewareArgument = defineError('E_INVALID_MIDDLEWARE_ARGUMENT', invalidValue);

/** A limit holds the job back, but its connection runs jobs at once. `wait`: seconds, as far as it is known. */
export const limitReached = defineError(
  'E_LIMIT_REACHED',
  (job: string, id: string, connection: string, layer: string, wait: number) => ({
    message:
      `${job} ${id} was not run: ${layer} puts it off by ${Math.ceil(wait * 10) / 10} s, and the connection '${connection}' runs jobs ` +
      'at once. Dispatch it to a connection with a queue, or try again later.',
    facts: { job, id, connection, layer, wait },
  }),
);

/** Two schedules have one name, but a name has only one state. `first` and `second`: what or where declares them. */
export const duplicateSchedule = defineError('E_DUPLICATE_SCHEDULE', (name: string, first: string, second: string) => ({
  message:
    `Two schedules are called '${name}': ${first} and ${second}. Give one of them another name, by name('…'), or in ` +
    "@Job({ schedule: { name: '…' } }).",
  facts: { name, schedules: [first, second] },
}));

/** The class cannot be a job as it is written. */
export const invalidJobClass = defineError(
  'E_INVALID_JOB_CLASS',
  (job: string, file: string | undefined, problem: string) => ({
    message: `${placed(job, file)} ${problem}`,
    facts: { job, file },
  }),
);

/** A class that claims a name: its own name, its file, and its decorator. */
export interface NamedClass {
  readonly name: string;
  readonly file: string | undefined;
  readonly decorator: JobDecoratorName | 'Middleware' | 'Event';
}

/** Two classes claim one name. */
export const duplicateJob = defineError('E_DUPLICATE_JOB', (name: string, first: NamedClass, second: NamedClass) => ({
  message:
    `Two classes claim the name '${name}': ${placed(first.name, first.file)} and ${placed(second.name, second.file)}. ` +
    duplicateRemedy(first, second),
  facts: { name, classes: [first.name, second.name], files: [first.file, second.file] },
}));

const NAMING: Readonly<Record<NamedClass['decorator'], string>> = {
  Job: "@Job({ name: '…' })",
  Listens: "@Listens(…, { name: '…' })",
  Middleware: "@Middleware({ name: '…' })",
  Event: 'Events.register({ … })',
};

function duplicateRemedy(
  { name, file: first }: NamedClass,
  { name: other, file: second, decorator }: NamedClass,
): string {
  const rename = `Give one of them another: ${NAMING[decorator]}.`;
  if (name !== other || first === undefined || second === undefined) return rename;
  if (!isBuildOf(first, second) && !isBuildOf(second, first)) return rename;
  return (
    'It seems to be one class that was loaded twice, as source and as build. Load only one of them: ' +
    'a compiled program imports its compiled configuration and begins with Queue.configure(configuration); ' +
    'for commands, add --config dist/onqueue.config.js.'
  );
}

function isBuildOf(build: string, source: string): boolean {
  const [built, written] = [parse(build), parse(source)];
  return built.name === written.name && /^\.[cm]?js$/.test(built.ext) && /^\.[cm]?tsx?$/.test(written.ext);
}

/** A copy of the package and its location. */
interface Copy {
  readonly version: string;
  readonly file: string;
}

/** Two versions of the package are in one process: neither knows the jobs of the other. */
export const twoVersions = defineError('E_TWO_VERSIONS', (first: Copy, second: Copy) => ({
  message:
    `onqueue ${placed(first.version, first.file)} is in this process already, and onqueue ${placed(second.version, second.file)} ` +
    "cannot share jobs with it. Install one version, and keep it out of bundles ('external').",
  facts: { versions: [first.version, second.version], files: [first.file, second.file] },
}));

/** The class cannot handle the job it was declared for. `by`: what joined the two. */
export const invalidHandler = defineError(
  'E_INVALID_HANDLER',
  (
    handler: string,
    job: string | undefined,
    file: string | undefined,
    problem: string,
    by: '@Handles on' | 'Bus.map to' = '@Handles on',
  ) => ({ message: `${by} ${placed(handler, file)}: ${problem}`, facts: { handler, job, file } }),
);

/** The class cannot listen to the event it was declared for. */
export const invalidListener = defineError(
  'E_INVALID_LISTENER',
  (listener: string, file: string | undefined, problem: string) => ({
    message: `@Listens on ${placed(listener, file)}: ${problem}`,
    facts: { listener, file },
  }),
);

/** The class of a dispatched object has no `@Job()` of its own. */
export const undecoratedJob = defineError(
  'E_UNDECORATED_JOB',
  (job: string, extendsJob: boolean, parent?: { readonly name: string; readonly file: string | undefined }) => {
    const what = extendsJob ? `${job} extends Job but has no @Job()` : `${job} is not a job: it has no @Job()`;
    const only = parent === undefined ? '.' : `; only its parent ${placed(parent.name, parent.file)} has.`;
    const where = `Add @Job() above class ${job}${parent?.name === job ? ', above its other decorators' : ''}.`;
    return { message: `${what}${only} ${where}`, facts: { job, parent: parent?.name } };
  },
);

/**
 * A class was dispatched instead of an instance, or an object of a class without `@Job()`. Its data are not quoted: they may be
 * secret.
 */
export const notAJob = defineError('E_NOT_A_JOB', (value: unknown, expected: keyof typeof NO_JOB = 'a job') => ({
  message: NO_JOB[expected](value),
  facts: { value: typeof value },
}));

const NO_JOB = {
  'a job': remedyForNoJob,
  'no listener': (value: unknown) =>
    `${(value as object).constructor.name} listens to an event and is not a job. Dispatch the event: Events.dispatch(new OrderShipped(…)).`,
  'a list of jobs': (value: unknown) => `${kindOf(value)} is not a list of jobs. Give a list: [new SendEmail(…)].`,
  'a class of jobs': (value: unknown) =>
    `${kindOf(value)} is not a class of jobs. Give the class, and examine its jobs in a predicate: (SendEmail, (job) => …).`,
};

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  return typeof value === 'object' ? 'An object' : `A ${typeof value}`;
}

function remedyForNoJob(value: unknown): string {
  if (typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))) {
    return `${value.name || 'class'}: this is the class, but a job is an instance of it. Write new ${value.name}(…).`;
  }
  if (typeof value === 'object' && value !== null && 'then' in value) {
    return 'A promise is not a job. Await it if it resolves to one; give new SendEmail(…) in place of SendEmail.dispatch(…), which sends the job by itself.';
  }
  return `${typeof value === 'object' && value !== null ? 'A plain object' : kindOf(value)} is not a job. Write a class with @Job() above it, and dispatch an instance: new SendEmail(…).`;
}

/** An own property of the job has another meaning to Onqueue. */
export const reservedProperty = defineError(
  'E_RESERVED_PROPERTY',
  (job: string, property: string, meanings: string, file?: string) => ({
    message: `${job} has an own property \`${property}\`. ${meanings}${inFile(file)}`,
    facts: { job, property },
  }),
);

/** `handle`, `failed` or another method of the job is a function in a field. */
export const methodInField = defineError('E_METHOD_IN_FIELD', (job: string, method: string, file?: string) => ({
  message: `${job}.${method} is an arrow function in a field: write it as a method. Fields are data, and a queue cannot carry a function.${inFile(file)}`,
  facts: { job, method },
}));

/** `this.job` or one of its shortcuts was used while the job does not run. */
export const notRunning = defineError('E_NOT_RUNNING', (job: string, member: string) => ({
  message:
    `${job}.${member} exists only while the job runs, in handle(), failed() and middleware(): what was dispatched here is ` +
    'only data. (In a test, run the job through the test kit.)',
  facts: { job, member },
}));

/** A call that needs a running job was made outside one. */
export const noJobRuns = defineError('E_NO_JOB_RUNS', (call: string) => ({
  message: `${call} was called outside of a job. Call it in handle(), or in a function that handle() awaits.`,
  facts: { call },
}));

/** The job reported a progress that is not valid. */
export const invalidProgress = defineError('E_INVALID_PROGRESS', (job: string, value: unknown, remedy: string) => ({
  message: `The progress of ${job}: ${valueText(value)} is not valid. ${remedy}`,
  facts: { job, value },
}));

/** The job logged something that is no text. */
export const invalidLogLine = defineError('E_INVALID_LOG_LINE', (job: string, value: unknown) => ({
  message: `${job} logs ${valueText(value)}, which is not text. Give a line: this.job.log('fetched 3 pages').`,
  facts: { job },
}));

/** A step or a cursor was used by a job whose class does not keep them. */
export const noCheckpoints = defineError('E_NO_CHECKPOINTS', (job: string, call: string) => ({
  message: `${call} of ${job}: its class keeps no steps and no cursors. Set checkpoints: true in @Job().`,
  facts: { job, call },
}));

/** A step or a cursor was used in a way that cannot be kept. */
export const invalidStep = defineError(
  'E_INVALID_STEP',
  (job: string, call: string, value: unknown, remedy: string) => ({
    message: `${call} of ${job}: ${valueText(value)} is not valid. ${remedy}`,
    facts: { job, call, value },
  }),
);

/** Two steps of one run have the same name, so a later attempt could not tell them apart. */
export const duplicateStep = defineError('E_DUPLICATE_STEP', (job: string, id: string, step: string) => ({
  message:
    `${job} ${id} has two steps called '${step}'. Give each its own name: in a loop, with what makes it different, such as ` +
    'step(`page ${n}`, …).',
  facts: { job, id, step },
}));

/** What a job wants to keep does not fit into its record. */
export const checkpointTooLarge = defineError(
  'E_CHECKPOINT_TOO_LARGE',
  (job: string, id: string, name: string, bytes: number, most: number) => ({
    message:
      `${job} ${id}: with '${name}', its steps and cursors have ${bytes} bytes, and may have ${most}. Keep large values elsewhere, and ` +
      'let the step return where they are.',
    facts: { job, id, name, bytes, most },
  }),
);

/** The job class has neither a `handle()` nor a handler. */
export const noHandler = defineError('E_NO_HANDLER', (job: string) => ({
  message: `${job} has no handle(), and no class is decorated with @Handles(${job}). Write one of the two.`,
  facts: { job },
}));

/** The chain could not be sent, and none of it was. */
export const invalidChain = defineError('E_INVALID_CHAIN', (value: unknown, remedy: string) => ({
  message: `${valueText(value)} in a chain: ${remedy}`,
  facts: { value },
}));

/** The batch contains something that it cannot. */
export const invalidBatch = defineError('E_INVALID_BATCH', (value: unknown, remedy: string) => ({
  message: `${valueText(value)} in a batch: ${remedy}`,
  facts: { value },
}));

/** A chain or batch was awaited without `dispatch()`. */
export const notDispatched = defineError('E_NOT_DISPATCHED', (what: 'chain' | 'batch') => ({
  message: `This ${what} was awaited but not sent: call dispatch() on it.`,
  facts: { what },
}));
