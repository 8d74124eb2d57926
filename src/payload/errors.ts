/** What can be wrong with data on their way into a payload, and with a payload on its way back. */
import { OnqueueError } from '../base/onqueue-error';
import { oneLine } from '../base/plain-text';
import { relativeFile } from '../base/declared-in';

/** A value that a payload cannot hold: refused when the job is dispatched. */
export class UnserializableValueError extends OnqueueError<{ readonly path: string; readonly kind: string }> {
  readonly code = 'E_UNSERIALIZABLE_VALUE';
  readonly #remedy: string;

  /**
   * @param path from the job to the value: "SendEmail.items[3].owner"
   * @param kind what it is, with its article: "a Logger"
   */
  constructor(path: string, kind: string, remedy: string) {
    super(`${path} is ${kind}, which a queue cannot carry. ${remedy}`, { path, kind });
    this.#remedy = remedy;
  }

  /** The same, with the file that declares the job. */
  in(file: string): UnserializableValueError {
    const { path, kind } = this.facts;
    return new UnserializableValueError(path, kind, `${this.#remedy} (${relativeFile(file)})`);
  }
}

/** Of what a payload names, an error shows so many characters: whoever wrote it may have made it as long as he liked. */
const LONGEST_POINTER = 200;
const LONGEST_NAME = 100;

/** A text that is no payload, or one whose values are not what it says they are. Quotes nothing of a job's data. */
export class InvalidPayloadError extends OnqueueError<{ readonly reason: string; readonly pointer?: string }> {
  readonly code = 'E_INVALID_PAYLOAD';

  /** @param pointer JSON Pointer to the place at fault */
  constructor(reason: string, pointer?: string, options?: { cause?: unknown }) {
    const shown = pointer === undefined ? undefined : oneLine(pointer, LONGEST_POINTER);
    const place = shown === undefined ? '' : `${shown}: `;
    const facts = shown === undefined ? { reason } : { reason, pointer: shown };
    super(`This payload cannot be read: ${place}${reason}. docs/format.md says what is expected.`, facts, options);
  }
}

/** Data of a later version than the class here knows: another worker may. */
export class PayloadVersionError extends OnqueueError<{
  readonly job: string;
  readonly version: number;
  readonly known: number;
}> {
  readonly code = 'E_PAYLOAD_VERSION';

  constructor(job: string, version: number, known: number) {
    super(
      `The data of this ${job} have version ${version}, and the class here knows versions up to ${known}. ` +
        'Deploy the newer class to this worker.',
      { job, version, known },
    );
  }
}

/** A class within the data of a job that this process has not registered: another worker may have. */
export class UnknownClassError extends OnqueueError<{ readonly name: string; readonly pointer: string }> {
  readonly code = 'E_UNKNOWN_CLASS';

  constructor(givenName: string, givenPointer: string) {
    const name = oneLine(givenName, LONGEST_NAME);
    const pointer = oneLine(givenPointer, LONGEST_POINTER);
    super(
      `This payload holds a '${name}' (${pointer}), and no class of that name is registered here. ` +
        'Import its file in onqueue.config or pass --require.',
      { name, pointer },
    );
  }
}

/** A field that `createPayloadUsing` may not set, because Onqueue does. */
export class ReservedFieldError extends OnqueueError<{ readonly job: string; readonly field: string }> {
  readonly code = 'E_RESERVED_FIELD';

  constructor(job: string, field: string) {
    super(
      `createPayloadUsing() gave the payload of ${job} a field \`${field}\`, which is Onqueue's own. ` +
        'Give it another name; options of a job belong to @Job() or the dispatch.',
      { job, field },
    );
  }
}

/** A job that is sent as a name alone, under a name that no worker could take apart. */
export class InvalidJobNameError extends OnqueueError<{ readonly name: unknown }> {
  readonly code = 'E_INVALID_JOB_NAME';

  constructor(name: unknown) {
    super(`${JSON.stringify(name)} names no job. Write 'Class@method' or the name of a job.`, { name });
  }
}

/** The decorators of class-transformer cannot be looked up, so that nobody can say which classes bear them. */
export class ClassTransformerError extends OnqueueError {
  readonly code = 'E_CLASS_TRANSFORMER';

  constructor(options?: { cause?: unknown }) {
    super(
      'The decorators of class-transformer cannot be looked up: it is not version 0.5.1, or a bundler put in two copies ' +
        'of it. Install class-transformer@0.5.1, and mark it as external in the bundler.',
      {},
      options,
    );
  }
}
