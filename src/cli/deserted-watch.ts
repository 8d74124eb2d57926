/**
 * Notices that npm has left this process alone: npx and `npm run` end at a SIGTERM, and do not pass it on to what they have
 * started. Whoever sent it takes the worker for stopped.
 *
 * Only where npm has started the command. Elsewhere a process may outlive the one that started it, and under nohup shall.
 */
import { type Clock, type Milliseconds, systemClock, type Timer } from '../base/clock';

const LOOK_EVERY: Milliseconds = 1000;

export interface DesertedWatchSettings {
  readonly environment: Readonly<NodeJS.ProcessEnv>;
  readonly clock?: Clock | undefined;
  /** The process that this one is a child of: another one, once the one that started it has gone. */
  readonly parent?: (() => number) | undefined;
}

/** Of the start: npm may go while the project is being loaded. */
const STARTER = process.ppid;

/** Calls `hear` once. Returns the function that stops watching. */
export function watchForDesertion(
  hear: () => void,
  { environment, clock = systemClock, parent = () => process.ppid }: DesertedWatchSettings,
  starter = STARTER,
): () => void {
  if (environment['npm_command'] === undefined && environment['npm_lifecycle_event'] === undefined)
    return () => undefined;
  let timer: Timer;
  const look = (): void => {
    if (parent() === starter) timer = clock.after(LOOK_EVERY, look);
    else hear();
  };
  timer = clock.after(LOOK_EVERY, look);
  return () => timer.cancel();
}
