/**
 * Carries values through JSON and back, exactly or not at all.
 *
 * What JSON has is written as it is. What it lacks is written in the JSON form that `docs/format.md` gives for its type,
 * and `types` names that type by a JSON Pointer to the place. Shared references become copies.
 */
import type { Class } from '../job/definition';
import { Decoder } from './decoder';
import { Encoder } from './encoder';

/** The classes whose instances may travel, by the names that stand for them in payloads. */
export interface CodecClasses {
  nameOf(target: Class): string | undefined;
  classOf(name: string): Class | undefined;
}

/** JSON Pointer to the name of the type there. */
export type Types = Readonly<Record<string, string>>;

export interface Encoded {
  /** Only what `JSON.stringify` writes exactly. May share parts with the value: write it before anything changes. */
  readonly command: unknown;
  /** Absent when JSON has all of it. */
  readonly types?: Types;
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
 * @param subject what the instance is called in errors
 * @throws UnserializableValueError with the path to what cannot be carried
 */
export function encodeInstance(instance: object, classes: CodecClasses, subject: string): Encoded {
  const encoder = new Encoder(classes, subject);
  return encoded(encoder, encoder.encodeData(instance));
}

/**
 * The value that was encoded. Builds it out of `command`, which must not be used any more.
 *
 * @param place JSON Pointer to `command`, for errors
 * @throws InvalidPayloadError when `types` and `command` do not fit each other
 * @throws UnknownClassError when a class is not registered here
 */
export function decodeValue(command: unknown, types: Types | undefined, classes: CodecClasses, place = ''): unknown {
  return types === undefined ? command : new Decoder(classes, place).decode(command, types);
}

function encoded({ types }: Encoder, command: unknown): Encoded {
  return types === undefined ? { command } : { command, types };
}
