/** The base of every error that Onqueue throws. `define-error.ts` explains how to add one. */
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
