/**
 * Errors in a worker's process that nobody caught or waited for: laid to the job whose handler has begun what they came
 * from, where that is known; otherwise they end the process, without harm to the jobs that run in it.
 *
 * Only where the process is the worker's own. In a program it is for the program to say what they do.
 */
import type { Seconds } from '../base/clock';
import { callerOf } from '../container/scope';
import { errorRecord } from '../base/error-record';
import { errorMessage, toError } from '../base/exception-text';
import type { Application } from '../application/application';
import { RunningJob } from './running-job';
import { ABORT_GRACE } from './shutdown';

/** A promise that was rejected, and that nobody waited for; or an exception behind which no `catch` stands. */
export type StrayKind = 'rejection' | 'exception';

/**
 * Hears them as long as it is told to: what it is called within is what the error came from. `alone`: the project has no
 * handler of its own for them. Returns the function that stops listening.
 */
export type StrayWatch = (hear: (thrown: unknown, kind: StrayKind, alone: boolean) => void) => () => void;

/** A handler that has left a rejection behind goes on, and is waited for. */
const PATIENCE: Readonly<Record<StrayKind, Seconds>> = { rejection: Infinity, exception: ABORT_GRACE };

export class Strays {
  readonly #application: Application;
  readonly #end: () => void;
  readonly #stop: () => void;

  /** @param end has the process end: what runs in it may finish first, within the grace */
  constructor(application: Application, watch: StrayWatch | undefined, end: () => void) {
    this.#application = application;
    this.#end = end;
    this.#stop = watch?.((thrown, kind, alone) => this.#hear(toError(thrown), kind, alone)) ?? (() => undefined);
  }

  close(): void {
    this.#stop();
  }

  #hear(error: Error, kind: StrayKind, alone: boolean): void {
    const job = callerOf();
    const isKnown = job instanceof RunningJob;
    if (isKnown && !job.blame(error, PATIENCE[kind])) {
      this.#application.report(error, { job, during: 'what handle() had left behind, after its outcome stood' });
    }
    // After an exception Node.js vouches for nothing; after a rejection all else goes on as it would.
    if (alone && (!isKnown || kind === 'exception')) this.#tellEnd(error, kind);
  }

  #tellEnd(error: Error, kind: StrayKind): void {
    const message = errorMessage(error);
    const err = errorRecord(error);
    const what = kind === 'rejection' ? 'A rejection that nobody waited for' : 'An exception that nobody caught';
    this.#application.logger.error({ err }, `${what} ends this process, once its jobs have ended: ${message}`);
    this.#end();
  }
}
