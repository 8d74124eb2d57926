/**
 * The base of every error that Onqueue throws, and how errors are defined: a code, a message and facts.
 *
 *     export const unknownConnection = defineError('E_UNKNOWN_CONNECTION', (name: string, known: readonly string[]) => ({
 *       message: `No connection '${name}' in the configuration; it has ${known.join(', ')}.`,
 *       facts: { name, known },
 *     }));
 *
 *     throw unknownConnection('reports', ['redis']);
 *     if (unknownConnection.is(error)) … // error.facts is typed
 *
 * The message names the value at fault and the remedy, in whole sentences. An error gets a class of its own only if programs
 * react to it differently, or if it has members:
 *
 *     export class LockTimeoutError extends errorClass('E_LOCK_TIMEOUT', (lock: string, waited: number) => ({ … })) {}
 *
 * To add one: define it in the `errors.ts` of its folder, give it a row in `docs/errors.md` and arguments in
 * `test/base/examples.ts`; a test says what is missing. Classes are exported by `src/index.ts`, definitions are not.
 */
import { bare, redacted, trust } from './foreign-error';
import { redact } from './redact';

export type ErrorCode = `E_${string}`;

/** The content of an error. */
export interface Description<Facts extends object> {
  readonly message: string;
  readonly facts?: Facts;
  /** Stored without what its thrower attached, such as a command with its payload. */
  readonly cause?: unknown;
}

/** Not a property of the error: for uncaught errors Node.js would print the facts below the message, which says the same. */
const factsOf = new WeakMap<Error, object>();

export class OnqueueError<Facts extends object = object> extends Error {
  static {
    // Enumerable, because loggers find them by `for … in`.
    Object.defineProperty(this.prototype, 'facts', { enumerable: true });
  }

  /** Stable over releases. Match on this, never on the message. */
  readonly code: ErrorCode;

  /** The values at fault, for programs. Contains no passwords, like the message. */
  get facts(): Readonly<Facts> {
    return factsOf.get(this) as Readonly<Facts>;
  }

  constructor(code: ErrorCode, { message, facts = {} as Facts, cause: given }: Description<Facts>) {
    const cause = bare(given);
    super(redact(message), cause === undefined ? undefined : { cause });
    this.code = code;
    factsOf.set(this, redacted(facts));
    this.name = new.target.name;
    trust(this);
  }

  toJSON(): object {
    const { code, facts, name } = this;
    return { code, facts, name };
  }
}

/** Rewrites the texts in the facts of an error of ours. */
export function rewriteFacts(error: Error, rewrite: (text: string) => string): void {
  const facts = factsOf.get(error);
  if (facts !== undefined) factsOf.set(error, rewritten(facts, rewrite) as object);
}

function rewritten(value: unknown, rewrite: (text: string) => string): unknown {
  if (typeof value === 'string') return rewrite(value);
  if (Array.isArray(value)) return value.map((item) => rewritten(item, rewrite));
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rewritten(item, rewrite)]));
}

/** Creates errors of one code, and recognises them. */
export interface ErrorDefinition<Given extends readonly unknown[], Facts extends object> {
  (...given: Given): OnqueueError<Facts>;
  readonly code: ErrorCode;
  is(error: unknown): error is OnqueueError<Facts>;
}

type Make = (...given: never) => OnqueueError;

const definitions = new Map<ErrorCode, Make>();

/** All errors of the loaded modules, by code. */
export const definedErrors: ReadonlyMap<ErrorCode, Make> = definitions;

export function defineError<Given extends readonly unknown[], Facts extends object>(
  code: ErrorCode,
  describe: (...given: Given) => Description<Facts>,
): ErrorDefinition<Given, Facts> {
  const make = (...given: Given): OnqueueError<Facts> => {
    const error = new OnqueueError(code, describe(...given));
    // The stack should begin at the caller.
    Error.captureStackTrace(error, make);
    return error;
  };
  const is = (error: unknown): error is OnqueueError<Facts> => error instanceof OnqueueError && error.code === code;
  register(code, make);
  return Object.assign(make, { code, is });
}

/** The base class of errors that have a class of their own. */
export function errorClass<Code extends ErrorCode, Given extends readonly unknown[], Facts extends object>(
  code: Code,
  describe: (...given: Given) => Description<Facts>,
): new (...given: Given) => OnqueueError<Facts> & { readonly code: Code } {
  class DefinedError extends OnqueueError<Facts> {
    declare readonly code: Code;

    constructor(...given: Given) {
      super(code, describe(...given));
    }
  }
  register(code, (...given: Given) => new DefinedError(...given));
  return DefinedError;
}

function register(code: ErrorCode, make: Make): void {
  if (definitions.has(code)) throw new TypeError(`Two errors have the code ${code}.`);
  definitions.set(code, make);
}

/**
 * The same error with another `consequence`, a clause that says what was not done (`SendEmail was not queued`). A driver does not
 * know the job's name, but the sender does. An error without this fact is returned unchanged; an error with it must be
 * constructible from `(facts, { cause })`.
 */
export function withConsequence(error: unknown, consequence: string): unknown {
  if (!(error instanceof OnqueueError) || !('consequence' in error.facts)) return error;
  const make = definitions.get(error.code);
  if (make === undefined) return error;
  const given = [{ ...error.facts, consequence }, { cause: error.cause }] as const;
  const { constructor: Class } = error as { readonly constructor: unknown };
  if (Class === OnqueueError) return make(...(given as never));
  return new (Class as new (...parameters: typeof given) => OnqueueError)(...given);
}
