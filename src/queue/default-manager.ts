/** The manager behind `Queue`: made on first use, and anew after it was closed. */
import type { Connector } from './connector';
import type { Drivers } from './configuration';
import { NoManagerError } from './errors';
import type { QueueManager } from './queue-manager';

let factory: (() => QueueManager) | undefined;
let current: QueueManager | undefined;
/** Connectors outlive a manager, as job classes do: they were made known by a module that is loaded only once. */
const connectors = new Map<keyof Drivers, Connector>();

/** Fills the slot: what a manager is made of lies in layers above. */
export function setManagerFactory(make: () => QueueManager): void {
  factory = make;
}

/** @throws NoManagerError */
export function defaultManager(): QueueManager {
  return (current ??= madeManager());
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
  const [factoryBefore, before] = [factory, current];
  factory = () => make(before);
  current = undefined;
  return () => {
    factory = factoryBefore;
    current = before;
  };
}

export function addDefaultConnector<Driver extends keyof Drivers>(
  driver: Driver,
  connector: Connector<Drivers[Driver]>,
): void {
  connectors.set(driver, connector as Connector);
  current?.addConnector(driver, connector);
}

/** Closes it; what is used after that starts afresh. What is used meanwhile still belongs to it. */
export async function closeDefaultManager(): Promise<void> {
  const closing = current;
  await closing?.close();
  if (current === closing) current = undefined;
}

function madeManager(): QueueManager {
  if (factory === undefined) throw new NoManagerError();
  const manager = factory();
  for (const [driver, connector] of connectors) manager.addConnector(driver, connector);
  return manager;
}
