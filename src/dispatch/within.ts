/** Finds the way into a transaction of the user's. */
import type { Connection } from '../connections/contract';
import { CapabilityError, unknownTransaction } from '../connections/errors';
import type { Target } from './send';

/** @throws CapabilityError, E_UNKNOWN_TRANSACTION */
export function targetWithin(driver: Connection, transaction: unknown): Target {
  if (driver.within === undefined) throw new CapabilityError(driver.name, driver.driver, 'transactions');
  const within = driver.within(transaction);
  if (within === undefined) throw unknownTransaction(driver.name, transaction);
  const { capabilities, now } = driver;
  return { push: (queue, entries) => within.push(queue, entries), capabilities, now: now && (() => now.call(driver)) };
}
