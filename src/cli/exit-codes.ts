/** The exit codes and their meanings; `docs/cli.md` says the same. */
import { OnqueueError, type ErrorCode } from '../base/onqueue-error';
import type { StopReason } from '../worker/stop';
import { BLOCKED } from '../worker/supervisor/supervision';

/** `EXIT_CODES_HELP` says what each means. */
export const ExitCode = {
  done: 0,
  error: 1,
  usage: 2,
  /** Laravel's code. */
  memory: 12,
  blocked: BLOCKED,
} as const;

const SIGNAL_NUMBERS = { SIGINT: 2, SIGQUIT: 3, SIGTERM: 15 } as const;

export type StopSignal = keyof typeof SIGNAL_NUMBERS;

export const STOP_SIGNALS = Object.keys(SIGNAL_NUMBERS) as StopSignal[];

/** The exit code of a process that a signal ended at once, as shells report it: 130, 131, 143. */
export function exitCodeOfSignal(signal: StopSignal): number {
  return 128 + SIGNAL_NUMBERS[signal];
}

/** Errors in the command line itself. */
const USAGE_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'E_INVALID_OPTION',
  'E_NOTHING_MATCHED',
  'E_UNCONFIRMED',
  'E_INVALID_DURATION',
  'E_INVALID_JOB_OPTION',
  'E_INVALID_QUEUE_NAME',
  'E_INVALID_JOB_ID',
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
export const EXIT_CODES_HELP: readonly (readonly [codes: string, meaning: string])[] = [
  ['0', 'done; for a worker: stopped by a signal or by one of its stop conditions'],
  ['1', 'something went wrong'],
  ['2', 'the command line was not understood; nothing was done'],
  ['12', 'a worker without a supervisor stopped because it used more memory than --memory allows'],
  [
    '70',
    'a worker was ended because a handler blocked its event loop, or because hung handlers occupied all its slots',
  ],
  ['130', 'ended at once by a second SIGINT (131: SIGQUIT, 143: SIGTERM)'],
];

/** How the log names the reasons for a worker's end. */
export const STOP_REASONS: Readonly<Record<StopReason | 'recycle', string>> = {
  stopped: 'it was told to',
  empty: 'its queues are empty',
  once: 'it ran its one job',
  'max-jobs': 'it reached --max-jobs',
  'max-time': 'it reached --max-time',
  memory: 'the process uses more memory than --memory allows',
  restart: 'all workers were told to restart',
  stuck: 'all its slots were occupied by jobs that had been given up',
  uncaught: 'an error was not caught',
  recycle: 'it reached the age of --recycle',
};
