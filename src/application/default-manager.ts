/** The manager behind `Queue`: created on first use, and again after it was closed. And what else dispatches to it: `Bus`, `Events`, `dispatch`. */
import { currentApplication, ensureApplication } from '../connections/application';
import { late } from '../base/late-parts';
import type { Drivers, Connector } from '../connections/driver';
import { checkHook } from '../job/hooks';
import type { Configuration } from './configuration/configuration';
import { DeclaredSchedules } from '../schedule/schedules';
import type { QueueManager } from './queue-manager';
import { JobBus } from '../dispatch/bus';
import { EventBus } from '../dispatch/events';
import type { JobInstance } from '../job/registry';
import type { PendingDispatch } from '../job/pending';

declare module '../base/late-parts' {
  interface LateParts {
    /** Makes the manager behind `Queue`. */
    manager: () => QueueManager;
    /** `Queue.fake`. */
    fake: FakeFunction;
  }
}
/**
 * The last argument of `Queue.configure`. It outlives a manager: otherwise jobs dispatched after `Queue.close()` would go to
 * another store.
 */
let given: Configuration | undefined;
/** Connectors outlive a manager, as job classes do: the module that added them is loaded only once. */
const connectors = new Map<keyof Drivers, Connector>();
/** Schedules outlive a manager for the same reason. */
const schedules = new DeclaredSchedules();

// Only managers are ever put behind `Queue`.
const usual = (): QueueManager | undefined => late.application as QueueManager | undefined;

export const defaultManager = ensureApplication as () => QueueManager;

/** @throws what `QueueManager.configure` throws */
export function configureDefaultManager(configuration: Configuration): void {
  const manager = defaultManager();
  manager.configure(configuration);
  if (manager === usual()) given = configuration;
}

/** Puts another manager behind `Queue`, for a test. Returns the one that was there, without closing it. */
export function replaceDefaultManager(manager: QueueManager | undefined): QueueManager | undefined {
  const previous = usual();
  late.application = manager;
  return previous;
}

/**
 * For a test: from now on `make` creates the manager behind `Queue`, also after `Queue.close()`. Returns a function that puts
 * back the previous manager, which is neither closed nor changed.
 */
export function standIn(make: (before: QueueManager | undefined) => QueueManager): () => void {
  const [factoryBefore, givenBefore] = [late.manager, given];
  const before = replaceDefaultManager(undefined);
  late.manager = () => make(before);
  given = undefined;
  return () => {
    late.manager = factoryBefore;
    given = givenBefore;
    late.application = before;
  };
}

export function addDefaultConnector<Driver extends keyof Drivers>(
  driver: Driver,
  connector: Connector<Drivers[Driver]>,
): void {
  checkHook('addConnector', connector, `'${driver}', `);
  connectors.set(driver, connector as Connector);
  usual()?.addConnector(driver, connector);
  (currentApplication() as QueueManager | undefined)?.addConnector(driver, connector);
}

/**
 * Closes the manager. Until it is closed, `Queue` still uses it; afterwards `Queue` starts afresh, with the same configuration.
 */
export async function closeDefaultManager(): Promise<void> {
  const closing = currentApplication() as QueueManager | undefined;
  // One of its own jobs that calls this does not wait, and can use its manager until the end.
  const closed = closing?.closed().then(() => {
    if (usual() === closing) late.application = undefined;
  });
  await (closing?.isCaller ? undefined : closed);
}

late.makeApplication = () => {
  const manager = late.manager();
  manager.schedules.share(schedules);
  for (const [driver, connector] of connectors) manager.addConnector(driver, connector);
  // The configuration's `close` was already called, and what it ends has already ended.
  if (given !== undefined) manager.configure({ ...given, close: undefined });
  late.application = manager;
  return manager;
};

/** Sends jobs, chains and batches, and runs the mapped handlers of commands. */
export const Bus = new JobBus(defaultManager);

/** Dispatches events to their listeners, each of which is a job. */
export const Events = new EventBus(defaultManager);

/** Sends a job that does not extend `Job`: `await dispatch(new Plain(1)).onQueue('x')`. */
export function dispatch(job: JobInstance): PendingDispatch {
  return Bus.dispatchToQueue(job);
}

/** `Queue.fake`. The test kit, a layer above, adds its call signature. */
// oxlint-disable-next-line typescript/no-empty-object-type -- it is filled by declaration merging
export interface FakeFunction {}
