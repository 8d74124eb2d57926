/** What may go wrong with a command line: our errors, how an error is shown, and the exit codes. */
import { dirname, join, sep } from 'node:path';
import { configFileFailed, ConfigurationError, problemOfLoading } from '../application/errors';
import { defineError, OnqueueError, type ErrorCode } from '../base/onqueue-error';
import { oneLine } from '../base/text';
import { redact } from '../base/redact';
import { BLOCKED } from '../worker/supervisor/supervision';

/** `WORKER_EXIT_CODES_HELP` says what each means. */
export const ExitCode = {
  done: 0,
  error: 1,
  usage: 2,
  /** Laravel's code. */
  memory: 12,
  blocked: BLOCKED,
} as const;

/** Errors in the command line itself. */
const USAGE_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'E_INVALID_OPTION',
  'E_NOTHING_MATCHED',
  'E_UNCONFIRMED',
  'E_INVALID_DURATION',
  'E_INVALID_JOB_OPTION',
  'E_INVALID_QUEUE_NAME',
  'E_INVALID_JOB_ID',
  'E_INVALID_LIMIT',
  'E_INVALID_LISTING',
  'E_INVALID_CANCEL_REASON',
  'E_INVALID_WORKER_OPTION',
  'E_UNKNOWN_CONNECTION',
  'E_UNKNOWN_SCHEDULE',
]);

export function exitCodeOf(error: unknown): number {
  return error instanceof OnqueueError && USAGE_ERRORS.has(error.code) ? ExitCode.usage : ExitCode.error;
}

/** Shown below every `--help`. */
type ExitCodesHelp = readonly (readonly [codes: string, meaning: string])[];

const FAULTS: ExitCodesHelp = [
  ['1', 'something went wrong'],
  ['2', 'the command line was not understood; nothing was done'],
];

export const EXIT_CODES_HELP: ExitCodesHelp = [['0', 'done'], ...FAULTS];

/** Those of commands that run jobs. */
export const WORKER_EXIT_CODES_HELP: ExitCodesHelp = [
  ['0', 'stopped by a signal or by one of its stop conditions'],
  ...FAULTS,
  ['12', 'a worker without a supervisor stopped because it used more memory than --memory allows'],
  [
    '70',
    'a worker was ended because a handler blocked its event loop, or because hung handlers occupied all its slots',
  ],
  ['130', 'ended at once by a second SIGINT (131: SIGQUIT, 143: SIGTERM)'],
];

/** How an error is shown: errors that a user can fix by message and code, unexpected ones with their stack. */
export function errorText(error: unknown): string {
  const peer = missingPeer(error);
  if (peer !== undefined) return `onqueue needs the package ${peer}, which is not installed. Run: npm install ${peer}`;
  if (!(error instanceof OnqueueError)) {
    return redact(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  // The mistake is in one of the user's files, and the stack leads there.
  const isTheirs = configFileFailed.is(error) || requiredFileFailed.is(error);
  // Others have several lines only if they echo a word of the command line that has.
  const message = isTheirs || error instanceof ConfigurationError ? error.message : oneLine(error.message);
  const told = `${message} (${error.code})`;
  const frames = isTheirs && error.cause instanceof Error ? framesOf(error.cause) : [];
  return [told, ...frames].join('\n');
}

/** The folder of this package's compiled files, or of its sources. */
const OURS = `${dirname(__dirname)}${sep}`;

/** Frames that tell users nothing, because they only lead to their file. */
const NOT_THEIRS = [OURS, join('node_modules', 'commander'), 'node:internal'];

/** A peer dependency that is missing: even our own files cannot be loaded without it. */
function missingPeer(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('requireStack' in error) || !Array.isArray(error.requireStack)) return undefined;
  const [, name] = /^Cannot find module '([^'./][^']*)'/.exec(error.message) ?? [];
  const [first] = error.requireStack as readonly unknown[];
  return typeof first === 'string' && first.startsWith(OURS) ? name : undefined;
}

function framesOf({ stack = '', message }: Error): string[] {
  // The stack of a syntax error begins with the source line, before the message.
  const [excerpt = '', rest = ''] = stack.split(message, 2);
  const before = excerpt.includes('\n') ? excerpt.split('\n').slice(0, -1) : [];
  const frames = rest.split('\n').filter((line) => /^\s+at /.test(line));
  return [...before, ...frames.filter((line) => !NOT_THEIRS.some((part) => line.includes(part)))];
}

/** The remedy if no job is registered. */
export const HOW_TO_REGISTER =
  "Import the files of your jobs in onqueue.config.*, or pass --require 'dist/jobs/**/*.js'.";

/** The flag cannot have this value. */
export const invalidOption = defineError('E_INVALID_OPTION', (option: string, value: string, remedy: string) => ({
  message: `${option}: '${value}' is not valid. ${remedy}`,
  facts: { option, value },
}));

/** A file or pattern to load matches nothing. */
export const nothingMatched = defineError(
  'E_NOTHING_MATCHED',
  (option: string, pattern: string, folder: string, remedy: string) => ({
    message: `${option}: nothing matches '${pattern}' in ${folder}. ${remedy}`,
    facts: { pattern, folder },
  }),
);

/** The worker would run nothing: it would give back every job. */
export const noJobs = defineError('E_NO_JOBS', (configuration: string) => ({
  message: `The worker knows no jobs, so it does not start (configuration: ${configuration}). ${HOW_TO_REGISTER}`,
  facts: { configuration },
}));

/** A file named by `--require` threw while it was loaded. */
export const requiredFileFailed = defineError('E_REQUIRED_FILE', (file: string, cause: unknown) => ({
  message: `${file} could not be loaded: ${problemOfLoading(cause)}`,
  facts: { file },
  cause,
}));

/** A file that was to be written is there. */
export const fileExists = defineError('E_FILE_EXISTS', (file: string) => ({
  message: `${file} is there already, so nothing was written. Remove or rename it first.`,
  facts: { file },
}));

/** A command that removes jobs was not confirmed. */
export const unconfirmed = defineError('E_UNCONFIRMED', (action: string, problem: string) => ({
  message: `${action}: ${problem} Nothing was done. Pass --force to skip the question.`,
  facts: { action },
}));

/** The port of `--health-port`, or of another server, is not available. */
export const healthPortTaken = defineError(
  'E_HEALTH_PORT',
  (flag: string, host: string, port: number, cause: NodeJS.ErrnoException) => {
    const problem = cause.code === 'EADDRINUSE' ? 'another process already listens there' : cause.message;
    const remedy = `Choose a free port, and an address of this machine for ${flag.replace('port', 'host')}.`;
    return {
      message: `${flag}: this process cannot listen on ${host}:${port}: ${problem}. ${remedy}`,
      facts: { host, port },
      cause,
    };
  },
);
