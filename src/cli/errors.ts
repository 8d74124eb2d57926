/** Errors of a command line. */
import { defineError } from '../base/define-error';

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
  message: `${file} could not be loaded: ${cause instanceof Error ? cause.message : String(cause)}`,
  facts: { file },
  cause,
}));

/** A command that removes jobs was not confirmed. */
export const unconfirmed = defineError('E_UNCONFIRMED', (action: string, problem: string) => ({
  message: `${action}: ${problem} Nothing was done. Pass --force to skip the question.`,
  facts: { action },
}));

interface PortPlace {
  readonly flag: string;
  readonly host: string;
  readonly port: number;
}

/** The port of `--health-port`, or of another server, is not available. */
export const healthPortTaken = defineError(
  'E_HEALTH_PORT',
  ({ flag, host, port }: PortPlace, cause: NodeJS.ErrnoException) => {
    const problem = cause.code === 'EADDRINUSE' ? 'another process already listens there' : cause.message;
    const remedy = `Choose a free port, and an address of this machine for ${flag.replace('port', 'host')}.`;
    return {
      message: `${flag}: this process cannot listen on ${host}:${port}: ${problem}. ${remedy}`,
      facts: { host, port },
      cause,
    };
  },
);
