/**
 * The manager behind `Queue`: made on first use, and anew after it was closed. What a worker of another manager runs finds
 * that one behind it: its jobs would otherwise land where nobody looks for them.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Application } from './application';
import type { Connector } from '../connections/connector';
import type { Configuration, Drivers } from './configuration/configuration';
import { NoManagerError } from './errors';
import type { QueueManager } from './queue-manager';

let factory: (() => QueueManager) | undefined;
let current: QueueManager | undefined;
/** What `Queue.configure` was given last: it outlives a manager, or what is dispatched behind `Queue.close()` would go to another store. */
let given: Configuration | undefined;
/** For whom the present code runs, where that is not the current one. */
const inForce = new AsyncLocalStorage<QueueManager>();
/** Connectors outlive a manager, as job classes do: they were made known by a module that is loaded only once. */
const connectors = new Map<keyof Drivers, Connector>();

/** Fills the slot: what a manager is made of lies in layers above. */
export function setManagerFactory(make: () => QueueManager): void {
  factory = make;
}

/** @throws NoManagerError */
export function defaultManager(): QueueManager {
  return inForce.getStore() ?? (current ??= madeManager());
}

/** @throws what `QueueManager.configure` throws */
export function configureDefaultManager(configuration: Configuration): void {
  const manager = defaultManager();
  manager.configure(configuration);
  if (manager === current) given = configuration;
}

/**
 * Has `manager` stand behind `Queue` in `run` and in all that it starts. Costs nothing where it does anyway: an async
 * context of its own would make each promise of the process dearer.
 */
export function runFor<Result>(manager: Application, run: () => Result): Result {
  // What works for an application has it from its manager.
  const own = manager as QueueManager;
  return own === (inForce.getStore() ?? current) ? run() : inForce.run(own, run);
}

/** Puts another manager behind `Queue`, for a test; gives the one that was there, which is not closed. */
export function replaceDefaultManager(manager: QueueManager | undefined): QueueManager | undefined {
  const previous = current;
  current = manager;
  return previous;
}

/**
 * For a test: what `make` gives is behind `Queue` from here on, also after `Queue.close()`. Gives the function that puts
 * back what was there, which is neither closed nor changed.
 */
export function standIn(make: (before: QueueManager | undefined) => QueueManager): () => void {
  const [factoryBefore, before, givenBefore] = [factory, current, given];
  factory = () => make(before);
  current = undefined;
  given = undefined;
  return () => {
    factory = factoryBefore;
    current = before;
    given = givenBefore;
  };
}

export function addDefaultConnector<Driver extends keyof Drivers>(
  driver: Driver,
  connector: Connector<Drivers[Driver]>,
): void {
  connectors.set(driver, connector as Connector);
  current?.addConnector(driver, connector);
  inForce.getStore()?.addConnector(driver, connector);
}

/** Closes it; what is used after that starts afresh, with the configuration that was given. What is used meanwhile still belongs to it. */
export async function closeDefaultManager(): Promise<void> {
  const closing = inForce.getStore() ?? current;
  // One of its jobs that asks for this is not kept waiting, and finds its manager until the end.
  const closed = closing?.closed().then(() => {
    if (current === closing) current = undefined;
  });
  await (closing?.isCaller ? undefined : closed);
}

function madeManager(): QueueManager {
  if (factory === undefined) throw new NoManagerError();
  const manager = factory();
  for (const [driver, connector] of connectors) manager.addConnector(driver, connector);
  // The application that it would have to end is ended.
  if (given !== undefined) manager.configure({ ...given, close: undefined });
  return manager;
}
