/** What is between a worker of the command and its process, which it has to itself; a worker of a program has none of it. */
import type { StrayWatch } from './strays';

export interface WorkersProcess {
  /** The process may be ended when a handler blocks its event loop. */
  readonly endsProcess?: boolean | undefined;
  /** It stands in for one that has died: under `drain` the jobs that this one held are not left behind. */
  readonly afterCrash?: boolean | undefined;
  /** Called before each handler starts, which may take the process with it; and when the worker takes no more jobs. */
  readonly changed?: (() => void) | undefined;
  /** Where errors are heard that nobody has caught. */
  readonly strays?: StrayWatch | undefined;
}
