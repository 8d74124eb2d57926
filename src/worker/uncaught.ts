/**
 * Errors in a worker's process that nobody caught or waited for. Where it is known which job's handler has begun what they
 * came from, they are laid to that job; otherwise they end the process, without harm to the jobs that run in it.
 *
 * Only in a process of the command. In a program it is for the program to say what they do.
 */
import type { Seconds } from '../base/clock';
import { callerOf } from '../container/scope';
import { errorRecord } from '../base/error-record';
import { errorMessage, toError } from '../base/exception-text';
import type { Application } from '../connections/application';
import { RunningJob } from './running-job';
import { ABORT_GRACE } from './stopping';

/** A promise that was rejected, and that nobody waited for; or an exception behind which no `catch` stands. */
export type UncaughtKind = 'rejection' | 'exception';

/**
 * Hears them as long as it is told to: what it is called within is what the error came from. `alone`: the project has no
 * handler of its own for them. Returns the function that stops listening.
 */
export type WatchUncaught = (hear: (thrown: unknown, kind: UncaughtKind, alone: boolean) => void) => () => void;

/** A handler that has left a rejection behind goes on, and is waited for. */
const GRACE: Readonly<Record<UncaughtKind, Seconds>> = { rejection: Infinity, exception: ABORT_GRACE };

/** Returns the function that stops it. `end` has the process end: what runs in it may finish first, within the grace. */
export function hearUncaught(application: Application, watch: WatchUncaught | undefined, end: () => void): () => void {
  if (watch === undefined) return () => undefined;
  return watch((thrown, kind, alone) => {
    const error = toError(thrown);
    const job = callerOf();
    const isKnown = job instanceof RunningJob;
    if (isKnown && !job.blame(error, GRACE[kind])) {
      application.report(error, { job, during: 'what handle() had left behind, after its outcome stood' });
    }
    // After an exception Node.js vouches for nothing; after a rejection all else goes on as it would.
    if (!alone || (isKnown && kind === 'rejection')) return;
    const what = kind === 'rejection' ? 'A rejection that nobody waited for' : 'An exception that nobody caught';
    const message = `${what} ends this process, once its jobs have ended: ${errorMessage(error)}`;
    application.logger.error({ err: errorRecord(error) }, message);
    end();
  });
}
