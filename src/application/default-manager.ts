/** The manager behind `Queue`: made on first use, and anew after it was closed. */
import { currentApplication, setUsualApplication, usualApplication } from '../connections/application';
import type { Drivers } from '../connections/configs';
import type { Connector } from '../connections/connector';
import { checkHook } from '../job/hooks';
import type { Configuration } from './configuration/configuration';
import { DeclaredSchedules } from '../schedule/declared-schedules';
import type { QueueManager } from './queue-manager';

/** Set by `composition`: what a manager is made of lies in layers above. */
let factory: () => QueueManager;
/** What `Queue.configure` was given last: it outlives a manager, or what is dispatched behind `Queue.close()` would go to another store. */
let given: Configuration | undefined;
/** Connectors outlive a manager, as job classes do: they were made known by a module that is loaded only once. */
const connectors = new Map<keyof Drivers, Connector>();
/** As well. */
const schedules = new DeclaredSchedules();

// Only managers are ever put behind `Queue`.
const current = (): QueueManager | undefined => currentApplication() as QueueManager | undefined;
const usual = (): QueueManager | undefined => usualApplication() as QueueManager | undefined;

export function setManagerFactory(make: () => QueueManager): void {
  factory = make;
}

export function defaultManager(): QueueManager {
  return current() ?? madeManager();
}

/** @throws what `QueueManager.configure` throws */
export function configureDefaultManager(configuration: Configuration): void {
  const manager = defaultManager();
  manager.configure(configuration);
  if (manager === usual()) given = configuration;
}

/** Puts another manager behind `Queue`, for a test; gives the one that was there, which is not closed. */
export function replaceDefaultManager(manager: QueueManager | undefined): QueueManager | undefined {
  const previous = usual();
  setUsualApplication(manager);
  return previous;
}

/**
 * For a test: what `make` gives is behind `Queue` from here on, also after `Queue.close()`. Gives the function that puts
 * back what was there, which is neither closed nor changed.
 */
export function standIn(make: (before: QueueManager | undefined) => QueueManager): () => void {
  const [factoryBefore, givenBefore] = [factory, given];
  const before = replaceDefaultManager(undefined);
  factory = () => make(before);
  given = undefined;
  return () => {
    factory = factoryBefore;
    given = givenBefore;
    setUsualApplication(before);
  };
}

export function addDefaultConnector<Driver extends keyof Drivers>(
  driver: Driver,
  connector: Connector<Drivers[Driver]>,
): void {
  checkHook('addConnector', connector, `'${driver}', `);
  connectors.set(driver, connector as Connector);
  usual()?.addConnector(driver, connector);
  current()?.addConnector(driver, connector);
}

/** Closes it; what is used after that starts afresh, with the configuration that was given. What is used meanwhile still belongs to it. */
export async function closeDefaultManager(): Promise<void> {
  const closing = current();
  // A job of its own that asks for this does not wait, and finds its manager until the end.
  const closed = closing?.closed().then(() => {
    if (usual() === closing) setUsualApplication(undefined);
  });
  await (closing?.isCaller ? undefined : closed);
}

function madeManager(): QueueManager {
  const manager = factory();
  manager.schedules.share(schedules);
  for (const [driver, connector] of connectors) manager.addConnector(driver, connector);
  // What its `close` would end has ended already.
  if (given !== undefined) manager.configure({ ...given, close: undefined });
  setUsualApplication(manager);
  return manager;
}
