/** What can be wrong with a command line. */
import { OnqueueError } from '../base/onqueue-error';

/** What to do where no job is registered. */
export const HOW_TO_REGISTER =
  "Import the files of your jobs in onqueue.config.*, or pass --require 'dist/jobs/**/*.js'.";

/** An option of the command line with a value that it cannot have. */
export class InvalidOptionError extends OnqueueError<{ readonly option: string; readonly value: string }> {
  readonly code = 'E_INVALID_OPTION';

  constructor(option: string, value: string, remedy: string) {
    super(`${option}: '${value}' will not do. ${remedy}`, { option, value });
  }
}

/** A file or pattern that was to be loaded, and is not there. */
export class NothingMatchedError extends OnqueueError<{ readonly pattern: string; readonly folder: string }> {
  readonly code = 'E_NOTHING_MATCHED';

  constructor(option: string, pattern: string, folder: string, remedy: string) {
    super(`${option}: nothing matches '${pattern}' in ${folder}. ${remedy}`, { pattern, folder });
  }
}

/** A worker that would run nothing: whatever came, it would give back. */
export class NoJobsError extends OnqueueError<{ readonly configuration: string }> {
  readonly code = 'E_NO_JOBS';

  constructor(configuration: string) {
    super(`The worker knows no job, so it does not start (the configuration is ${configuration}). ${HOW_TO_REGISTER}`, {
      configuration,
    });
  }
}

/** A file that was named by `--require` threw while it was loaded. */
export class RequiredFileError extends OnqueueError<{ readonly file: string }> {
  readonly code = 'E_REQUIRED_FILE';

  constructor(file: string, cause: unknown) {
    super(
      `${file} could not be loaded: ${cause instanceof Error ? cause.message : String(cause)}`,
      { file },
      { cause },
    );
  }
}

/** What removes jobs was not confirmed. */
export class UnconfirmedError extends OnqueueError<{ readonly action: string }> {
  readonly code = 'E_UNCONFIRMED';

  constructor(action: string, problem: string) {
    super(`${action}: ${problem} Nothing was done. Pass --force to go ahead without being asked.`, { action });
  }
}

/** The port of `--health-port` cannot be listened on. */
export class HealthPortError extends OnqueueError<{ readonly host: string; readonly port: number }> {
  readonly code = 'E_HEALTH_PORT';

  constructor(host: string, port: number, cause: NodeJS.ErrnoException) {
    const problem = cause.code === 'EADDRINUSE' ? 'another process listens there' : cause.message;
    super(
      `--health-port: nothing can be told on ${host}:${port}: ${problem}. Give a port that is free, and by --health-host an address of this machine.`,
      { host, port },
      { cause },
    );
  }
}
