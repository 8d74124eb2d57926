/** Since when a job could have run that was never taken by a worker. */
import type { Milliseconds } from '../base/clock';
import { momentOfId } from './uuid';

/** The field of a payload that says so where its id does not. */
export const READY_AT = 'readyAt';

/** Null: it follows others, and nobody knows when they end. Undefined: from when it was made. */
export type ReadyAt = Milliseconds | null | undefined;

/** By the clock of its dispatcher. Undefined: nobody knows. @param said by that field of its payload */
export function readyAtOf(id: string, said: unknown): Milliseconds | undefined {
  if (said === undefined) return momentOfId(id);
  return typeof said === 'number' ? said : undefined;
}
