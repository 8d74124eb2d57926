/** Brings data that an older version of a class wrote to what the class expects today. */
import type { JobDefinition } from '../job/definition';
import { InvalidPayloadError, PayloadVersionError } from './errors';
import { isPlain } from './kinds';
import { checkMade } from './nesting';

type Data = Record<string, unknown>;

/**
 * @param data with its typed values in place
 * @param from the version that the payload gives them; undefined: 0
 * @param place JSON Pointer to the data, for errors
 * @throws PayloadVersionError when they are of a later version than the class
 * @throws InvalidPayloadError when `upgrade()` made no data of them, or `from` is no version
 */
export function upgraded(data: Data, from: unknown, definition: JobDefinition, place: string): Data {
  const { name, version = 0, upgrade } = definition;
  const written = checkedVersion(from, place) ?? 0;
  if (written > version) throw new PayloadVersionError(name, written, version);
  if (written === version || upgrade === undefined) return data;
  const result: unknown = upgrade(data, written);
  if (typeof result !== 'object' || result === null || !isPlain(result)) {
    throw new InvalidPayloadError(`upgrade() of ${name} gave no plain object for version ${written}`, place);
  }
  checkMade(result, place);
  return result as Data;
}

/** @throws InvalidPayloadError */
export function checkedVersion(version: unknown, place: string): number | undefined {
  if (version === undefined || version === null) return undefined;
  if (Number.isSafeInteger(version) && (version as number) >= 0) return version as number;
  throw new InvalidPayloadError('expected a whole number from 0', place);
}
