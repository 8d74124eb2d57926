/** Errors of data on their way into a payload, and of a payload on its way back. */
import { defineError, errorClass } from '../base/onqueue-error';
import { oneLine, valueText } from '../base/text';
import { relativeFile } from '../base/class';

/** A payload cannot hold this value: refused when the job is dispatched. */
export class UnserializableValueError extends errorClass(
  'E_UNSERIALIZABLE_VALUE',
  /**
   * @param path from the job to the value: "SendEmail.items[3].owner"
   * @param kind what the value is, with its article: "a Logger"
   */
  (path: string, kind: string, remedy: string, file?: string) => ({
    message: `${path} is ${kind}, which a queue cannot carry. ${remedy}${file === undefined ? '' : ` (${relativeFile(file)})`}`,
    facts: { path, kind },
  }),
) {}

/** Characters of a pointer or a name that an error shows: a payload may make them as long as it likes. */
const LONGEST_POINTER = 200;
const LONGEST_NAME = 100;

/** A text that is not a payload, or whose values are not what it says. Quotes none of the job's data. */
export class InvalidPayloadError extends errorClass(
  'E_INVALID_PAYLOAD',
  /** @param pointer JSON Pointer to the place at fault */
  (reason: string, pointer?: string): { message: string; facts: { reason: string; pointer?: string } } => {
    const shown = pointer === undefined ? undefined : oneLine(pointer, LONGEST_POINTER);
    const place = shown === undefined ? '' : `${shown}: `;
    return {
      message: `This payload cannot be read: ${place}${reason}. docs/format.md says what is expected.`,
      facts: shown === undefined ? { reason } : { reason, pointer: shown },
    };
  },
) {}

/** The data have a later version than the class here: another worker may know it. */
export class PayloadVersionError extends errorClass(
  'E_PAYLOAD_VERSION',
  (job: string, version: number, known: number) => ({
    message:
      `The data of this ${job} have version ${version}, and the class here knows versions up to ${known}. ` +
      'Deploy the newer class to this worker.',
    facts: { job, version, known },
  }),
) {}

/** The data of a job contain a class that this process has not registered: another worker may have. */
export class UnknownClassError extends errorClass('E_UNKNOWN_CLASS', (givenName: string, givenPointer: string) => {
  const name = oneLine(givenName, LONGEST_NAME);
  const pointer = oneLine(givenPointer, LONGEST_POINTER);
  return {
    message:
      `This payload holds a '${name}' (${pointer}), and no class of that name is registered here. ` +
      'Import its file in onqueue.config or pass --require.',
    facts: { name, pointer },
  };
}) {}

/** The data of a job contain an entity of an adapter that this process does not have: another worker may. */
export class UnknownAdapterError extends errorClass('E_UNKNOWN_ADAPTER', (givenName: string) => {
  const name = oneLine(givenName, LONGEST_NAME);
  return {
    message: `This payload holds an entity of '${name}', which needs an adapter of that name in \`entities\` of the configuration.`,
    facts: { name },
  };
}) {}

/** An entity that the job needs is not in its database any more. */
export class MissingEntityError extends errorClass(
  'E_MISSING_ENTITY',
  (entity: string, entityId: unknown, job: string, id: string) => ({
    // An object if the key has several parts.
    message: `${entity} ${typeof entityId === 'object' ? JSON.stringify(entityId) : (entityId as string | number | bigint)} is gone; ${job} ${id} needs it.`,
    facts: { entity, entityId, job, id },
  }),
) {}

/** An adapter for entities did not answer with one entity for each id. */
export const invalidEntities = defineError(
  'E_INVALID_ENTITIES',
  (adapter: string, name: string, asked: number, found: unknown) => ({
    message:
      `The adapter '${adapter}' was asked for ${asked} of ${name} and gave ${Array.isArray(found) ? found.length : valueText(found)}. ` +
      'Its load() resolves to a list with one entry for each id, in their order, and null for what is gone.',
    facts: { adapter, class: name, asked },
  }),
);

/** The data of a job are sealed with a key that this process does not have: another worker may. */
export class UnknownKeyError extends errorClass('E_UNKNOWN_KEY', (job: string, id: string, key: string) => ({
  message: `${job} ${id} needs the key '${key}'. Add it to encryption.keys.`,
  facts: { job, id, key },
})) {}

/** Data of an encrypted job that it did not get from its dispatch. */
export const tamperedPayload = defineError('E_TAMPERED_PAYLOAD', (job: string, id: string) => ({
  message: `${job} ${id}: its data were changed after they were sealed, or belong to another job.`,
  facts: { job, id },
}));

/** It is never sent in the clear. */
export const noEncryptionKey = defineError('E_NO_ENCRYPTION_KEY', (job: string) => ({
  message:
    `${job} is encrypted, but the configuration has no \`encryption\`. Make a key with \`openssl rand -base64 32\`, and set ` +
    'encryption: { use, keys }.',
  facts: { job },
}));

/** An entity without an id was to travel: nobody could load it. */
export const unsavedEntity = defineError('E_UNSAVED_ENTITY', (path: string, name: string, file?: string) => ({
  message: `${path}: this ${name} has no id. Save it before the dispatch.${file === undefined ? '' : ` (${relativeFile(file)})`}`,
  facts: { path, class: name },
}));

/** PHP would not set the property, and Laravel's worker would fail where the job reads it. */
export const laravelProperty = defineError('E_LARAVEL_PROPERTY', (job: string, property: string, file?: string) => ({
  message: `${job}.${property} is undefined. Laravel needs a value there: write null.${file === undefined ? '' : ` (${relativeFile(file)})`}`,
  facts: { job, property },
}));

/** A field that only Onqueue may set. */
export const reservedField = defineError('E_RESERVED_FIELD', (job: string, field: string, source: string) => ({
  message:
    `${source} gave the payload of ${job} a field \`${field}\`, which is Onqueue's own. ` +
    'Give it another name; options of a job belong to @Job() or the dispatch.',
  facts: { job, field, source },
}));

/** The name of a string job that no worker could parse. */
export const invalidJobName = defineError('E_INVALID_JOB_NAME', (name: unknown) => ({
  message: `${JSON.stringify(name)} names no job. Write 'Class@method' or the name of a job.`,
  facts: { name },
}));

/** We cannot find out which classes have decorators of class-transformer. */
export const classTransformerMissing = defineError('E_CLASS_TRANSFORMER', (cause?: unknown) => ({
  message:
    'The decorators of class-transformer cannot be looked up: it is not version 0.5.1, or a bundler put in two copies ' +
    'of it. Install class-transformer@0.5.1, and mark it as external in the bundler.',
  cause,
}));
