/** What a dispatch needs of the application that it belongs to; a `QueueManager` is one. */
import type { Class } from '../base/class';
import type { Application } from '../connections/application';
import type { ConnectionSettings } from '../connections/connector';
import type { SyncRunner } from '../connections/sync-runner';
import type { SeenApplication } from '../operations/listed-job';
import type { ResultApplication } from '../operations/results/results';
import type { Batches } from './batch/batches';
import type { JobEncoder } from './job-encoder';
import type { Outbox } from './outbox';
import type { QueueConnection } from './queue-connection';

export interface DispatchApplication extends Application, Omit<ResultApplication, 'settings'> {
  readonly encoder: JobEncoder;
  readonly batches: Batches;
  readonly outbox: Outbox;
  /** The jobs that are out of tries: who keeps them, and what sends them back. */
  readonly failed: SeenApplication['failed'] & {
    retry(which: { readonly batch: string; readonly connection: string }): Promise<number>;
  };
  /** `Bus.map`: handlers of commands that are no jobs. */
  readonly commandHandlers: Map<Class, Class>;
  /** Whether errors that nobody awaits are heard by more than the log. */
  readonly hearsErrors: boolean;
  /** Whether asking for the configuration would load nothing more. */
  readonly isConfigured: boolean;
  settings(name?: string): ConnectionSettings;
  connection(name?: string): QueueConnection;
  /** What runs jobs at once. */
  syncRunner(): SyncRunner;
}
