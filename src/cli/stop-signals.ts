/** Listens for stop signals, and tells the first from the second, which means hurry. */
import type { Milliseconds } from '../base/clock';
import type { Logger } from '../base/logger';
import { exitCodeOfSignal, type StopSignal } from './exit-codes';
import type { Surroundings } from './session';

/**
 * One signal may arrive twice: npm passes on what the terminal has already sent to all its processes. A second signal within this
 * time counts as such an echo.
 */
const ECHO: Milliseconds = 200;

export interface StopCallbacks {
  /** `said`: the text for the log. */
  readonly first: (signal: StopSignal, said: string) => void;
  /** `code`: the exit code of the process. */
  readonly again: (signal: StopSignal, code: number) => void;
}

/**
 * Calls each callback once. If npm started this process and has gone, that counts as the first signal, a SIGTERM, but never as
 * the second. Returns the function that stops listening.
 */
export function hearStopSignals(
  { clock, onStopSignal, onDeserted }: Surroundings,
  { first, again }: StopCallbacks,
): () => void {
  let firstAt: Milliseconds | undefined;
  let isHurried = false;
  const stopListening = onStopSignal((signal) => {
    const now = clock.monotonic();
    if (firstAt === undefined) {
      firstAt = now;
      first(signal, `${signal}: running jobs may finish; a second signal ends them at once.`);
    } else if (now - firstAt > ECHO && !isHurried) {
      isHurried = true;
      again(signal, exitCodeOfSignal(signal));
    }
  });
  const stopWatching = onDeserted(() => {
    if (firstAt !== undefined) return;
    firstAt = clock.monotonic();
    first('SIGTERM', 'npm, which started this process, has gone: running jobs may finish; a signal ends them at once.');
  });
  return () => {
    stopListening();
    stopWatching();
  };
}

/** The same for workers, with log lines. */
export function stopAtSignals(
  surroundings: Surroundings,
  logger: Logger,
  stop: (signal: StopSignal) => void,
  end: (code: number) => void,
): () => void {
  return hearStopSignals(surroundings, {
    first(signal, said) {
      logger.info({ signal }, said);
      stop(signal);
    },
    again(signal, code) {
      logger.warn({ signal }, `${signal} again: ending at once. Running jobs run again when their leases end.`);
      end(code);
    },
  });
}

/** For commands with nothing to finish: resolves on the first stop signal, or when npm, having started this process, has gone. */
export function stopped({ onStopSignal, onDeserted }: Surroundings): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      for (const stopListening of listening) stopListening();
      resolve();
    };
    const listening = [onStopSignal(over), onDeserted(over)];
  });
}
