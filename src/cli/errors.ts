/** What can be wrong with a command line. */
import { defineError } from '../base/define-error';

/** What to do where no job is registered. */
export const HOW_TO_REGISTER =
  "Import the files of your jobs in onqueue.config.*, or pass --require 'dist/jobs/**/*.js'.";

/** A flag with a value that it cannot have. */
export const invalidOption = defineError('E_INVALID_OPTION', (option: string, value: string, remedy: string) => ({
  message: `${option}: '${value}' is not valid. ${remedy}`,
  facts: { option, value },
}));

/** A file or pattern that was to be loaded, and is not there. */
export const nothingMatched = defineError(
  'E_NOTHING_MATCHED',
  (option: string, pattern: string, folder: string, remedy: string) => ({
    message: `${option}: nothing matches '${pattern}' in ${folder}. ${remedy}`,
    facts: { pattern, folder },
  }),
);

/** A worker that would run nothing: whatever came, it would give back. */
export const noJobs = defineError('E_NO_JOBS', (configuration: string) => ({
  message: `The worker knows no job, so it does not start (the configuration is ${configuration}). ${HOW_TO_REGISTER}`,
  facts: { configuration },
}));

/** A file that was named by `--require` threw while it was loaded. */
export const requiredFileFailed = defineError('E_REQUIRED_FILE', (file: string, cause: unknown) => ({
  message: `${file} could not be loaded: ${cause instanceof Error ? cause.message : String(cause)}`,
  facts: { file },
  cause,
}));

/** What removes jobs was not confirmed. */
export const unconfirmed = defineError('E_UNCONFIRMED', (action: string, problem: string) => ({
  message: `${action}: ${problem} Nothing was done. Pass --force to go ahead without being asked.`,
  facts: { action },
}));

interface PortPlace {
  readonly flag: string;
  readonly hostFlag: string;
  readonly host: string;
  readonly port: number;
}

/** The port of `--health-port`, or of another server, cannot be listened on. */
export const healthPortTaken = defineError(
  'E_HEALTH_PORT',
  ({ flag, hostFlag, host, port }: PortPlace, cause: NodeJS.ErrnoException) => {
    const problem = cause.code === 'EADDRINUSE' ? 'another process listens there' : cause.message;
    const remedy = `Give a port that is free, and by ${hostFlag} an address of this machine.`;
    return {
      message: `${flag}: this process cannot listen on ${host}:${port}: ${problem}. ${remedy}`,
      facts: { host, port },
      cause,
    };
  },
);
