/**
 * Carries values through JSON and back, exactly or not at all.
 *
 * What JSON has is written as it is. What it lacks is written in the JSON form that `docs/format.md` gives for its type,
 * and `types` names that type by a JSON Pointer to the place. Shared references become copies.
 */
import type { Class, JobDefinition } from '../job/definition';
import { Decoder } from './decoder';
import { Encoder } from './encoder';

/** The classes whose instances may travel, by the names that stand for them in payloads. */
export interface CodecClasses {
  nameOf(target: Class): string | undefined;
  classOf(name: string): Class | undefined;
  /** Of a class of jobs: its data have a version. */
  definitionOf(target: Class): JobDefinition | undefined;
}

/** JSON Pointer to the name of the type there. */
export type Types = Readonly<Record<string, string>>;

/** JSON Pointer to the version of the data of the job there. */
export type Versions = Readonly<Record<string, number>>;

export interface Encoded {
  /** Only what `JSON.stringify` writes exactly. May share parts with the value: write it before anything changes. */
  readonly command: unknown;
  /** Absent when JSON has all of it. */
  readonly types?: Types;
  /** Absent when no job in it has a version. */
  readonly versions?: Versions;
}

/**
 * @param subject what the value is called in errors
 * @throws UnserializableValueError with the path to what cannot be carried
 */
export function encodeValue(value: unknown, classes: CodecClasses, subject: string): Encoded {
  const encoder = new Encoder(classes, subject);
  return encoded(encoder, encoder.encode(value));
}

/**
 * The data of an instance, without saying what it is an instance of.
 *
 * @param subject what the instance is called in errors, which name `file` too
 * @throws UnserializableValueError with the path to what cannot be carried
 */
export function encodeInstance(instance: object, classes: CodecClasses, subject: string, file?: string): Encoded {
  const encoder = new Encoder(classes, subject, file);
  return encoded(encoder, encoder.encodeData(instance));
}

/**
 * The value that was encoded. Builds it out of `command`, which must not be used any more.
 *
 * @param place JSON Pointer to `command`, for errors
 * @param versions of the jobs in it, as they were read
 * @throws InvalidPayloadError when `types` and `command` do not fit each other
 * @throws UnknownClassError when a class is not registered here
 * @throws PayloadVersionError when the data of a job are of a later version than its class
 */
export function decodeValue(
  command: unknown,
  types: Types | undefined,
  classes: CodecClasses,
  place = '',
  versions?: Readonly<Record<string, unknown>>,
): unknown {
  return types === undefined ? command : new Decoder(classes, place, versions).decode(command, types);
}

function encoded({ types, versions }: Encoder, command: unknown): Encoded {
  if (types === undefined) return { command };
  return versions === undefined ? { command, types } : { command, types, versions };
}
