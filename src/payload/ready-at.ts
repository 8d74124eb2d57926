/** When a job became ready that no worker has taken before. */
import type { Milliseconds } from '../base/clock';
import { momentOfId } from './uuid';

/** The field of a payload that says so if its id does not. */
export const READY_AT = 'readyAt';

/** Null: it follows other jobs, and nobody knows when they end. Undefined: it was ready when it was made. */
export type ReadyAt = Milliseconds | null | undefined;

/** By its dispatcher's clock. Undefined if nobody knows. @param said the value of that field */
export function readyAtOf(id: string, said: unknown): Milliseconds | undefined {
  if (said === undefined) return momentOfId(id);
  return typeof said === 'number' ? said : undefined;
}
