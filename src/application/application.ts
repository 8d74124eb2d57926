/** What a connection and a worker may use of the application they belong to; a `QueueManager` is one. */
import type { Clock } from '../base/clock';
import type { Random } from '../base/random';
import type { Container } from '../container/container';
import type { Hooks } from './hooks/hooks';
import type { JobContext } from '../job/job-context';
import type { JobRegistry } from '../job/registry';
import type { Logger } from '../base/logger';
import type { Connection } from '../connections/contract';

/** Where an error came from that had nobody to go to. */
export interface ErrorContext {
  /** What was being done, in words. */
  readonly during: string;
  /** The running job, where one was. */
  readonly job?: JobContext | undefined;
  /** The name of the job that was being dispatched. */
  readonly name?: string | undefined;
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
}

export interface Application {
  readonly registry: JobRegistry;
  readonly container: Container | undefined;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** How many failed jobs are kept of each queue. */
  readonly keptFailures: number;
  /** Another connection of the configuration. */
  driver(name: string): Connection;
  /** The connections that are open. */
  readonly drivers: Iterable<Connection>;
  /** To `Queue.onError`, or the log: errors that must not change what goes on. Never throws. */
  report(error: unknown, context: ErrorContext): void;
}
