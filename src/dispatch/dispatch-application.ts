/** What a dispatch needs of its application beyond what all parts see of it; a `QueueManager` provides it. */
import type { Class } from '../base/class';
import type { Application } from '../connections/application';
import type { SyncRunner } from '../connections/contract';
import type { ChosenBatch } from '../job/pending';
import type { Batches } from './batch/batch';
import type { StartBatch } from './batch/send-batch';
import type { JobEncoder, PayloadCreator, Routes } from './job-encoder';
import type { Outbox } from './pending-dispatch';
import type { QueueConnection } from './queue-connection';

export interface DispatchApplication extends Application {
  readonly encoder: JobEncoder;
  readonly batches: Batches;
  readonly outbox: Outbox;
  readonly routes: Routes;
  /** The creators added by `createPayloadUsing` and not removed. */
  readonly payloadCreators: Iterable<PayloadCreator>;
  /** The failed jobs: who keeps them, and how to send them back. */
  readonly failed: Application['failed'] & {
    retry(which: { readonly batch: string; readonly connection: string }): Promise<number>;
  };
  /** `Bus.map`: handlers of commands, which are not jobs. */
  readonly commandHandlers: Map<Class, Class>;
  /** Whether anything other than the log listens for errors that nobody awaits. */
  readonly hearsErrors: boolean;
  /** Whether the configuration is already loaded. */
  readonly isConfigured: boolean;
  connection(name?: string): QueueConnection;
  /** The connection that runs jobs at once. */
  syncRunner(): SyncRunner;
  /** @throws E_NO_RECORDS no connection can keep the results of this connection's jobs */
  checkResults(connection: string): void;
  /** The job that sends a batch, as a link of a chain. @throws any error of the batch */
  linkOfBatch(batch: ChosenBatch): StartBatch;
}
