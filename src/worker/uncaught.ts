/**
 * Errors in a worker's process that nobody caught. If it is known which job's handler caused an error, that job's attempt
 * fails with it. Otherwise the error ends the process, without harm to its running jobs.
 *
 * Only in processes of the command. In a program, the program decides what they do.
 */
import type { Seconds } from '../base/clock';
import { callerOf } from '../container/scope';
import { errorRecord, errorMessage, toError } from '../base/exception-text';
import type { Application } from '../connections/application';
import { RunningJob } from './running-job';
import { ABORT_GRACE } from './stop';
import type { UncaughtKind, WatchUncaught } from './worker-options';

/** A handler that has left a rejection behind goes on, and we wait for it. */
const GRACE: Readonly<Record<UncaughtKind, Seconds>> = { rejection: Infinity, exception: ABORT_GRACE };

/** Returns the function that stops listening. `end` ends the process after its jobs have finished, within the grace. */
export function hearUncaught(application: Application, watch: WatchUncaught | undefined, end: () => void): () => void {
  if (watch === undefined) return () => undefined;
  return watch((thrown, kind, alone) => {
    const error = toError(thrown);
    const job = callerOf();
    const isKnown = job instanceof RunningJob;
    if (isKnown && !job.blame(error, GRACE[kind])) {
      application.report(error, { job, during: 'what handle() had left behind, after its outcome stood' });
    }
    // After an uncaught exception Node.js guarantees nothing; after a rejection everything else goes on as usual.
    if (!alone || (isKnown && kind === 'rejection')) return;
    const what = kind === 'rejection' ? 'A rejection that nobody waited for' : 'An exception that nobody caught';
    const message = `${what} ends this process, once its jobs have ended: ${errorMessage(error)}`;
    application.logger.error({ err: errorRecord(error) }, message);
    end();
  });
}
