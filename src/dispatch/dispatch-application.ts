/** What a dispatch needs from its application; a `QueueManager` provides it. */
import type { Class } from '../base/class';
import type { Application } from '../connections/application';
import type { ConnectionSettings } from '../connections/driver';
import type { SyncRunner } from '../connections/contract';
import type { SeenApplication } from '../operations/listed-job';
import type { ResultApplication } from '../operations/results';
import type { Batches } from './batch/batch';
import type { JobEncoder } from './job-encoder';
import type { Outbox } from './pending-dispatch';
import type { QueueConnection } from './queue-connection';

export interface DispatchApplication extends Application, Omit<ResultApplication, 'settings'> {
  readonly encoder: JobEncoder;
  readonly batches: Batches;
  readonly outbox: Outbox;
  /** The failed jobs: who keeps them, and how to send them back. */
  readonly failed: SeenApplication['failed'] & {
    retry(which: { readonly batch: string; readonly connection: string }): Promise<number>;
  };
  /** `Bus.map`: handlers of commands, which are not jobs. */
  readonly commandHandlers: Map<Class, Class>;
  /** Whether anything other than the log listens for errors that nobody awaits. */
  readonly hearsErrors: boolean;
  /** Whether the configuration is already loaded. */
  readonly isConfigured: boolean;
  settings(name?: string): ConnectionSettings;
  connection(name?: string): QueueConnection;
  /** The connection that runs jobs at once. */
  syncRunner(): SyncRunner;
}
