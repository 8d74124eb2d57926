/** The base of every error that Onqueue throws. `define-error.ts` tells how to add one. */
import { bare, redacted, trust } from './foreign-error';
import { redact } from './redact';

export type ErrorCode = `E_${string}`;

/** What an error says. */
export interface Description<Facts extends object> {
  readonly message: string;
  readonly facts?: Facts;
  /** Kept without what its thrower hung on it, such as a command with its payload. */
  readonly cause?: unknown;
}

/** Not on the error itself: Node.js would print them below the message, which says the same, for errors that nobody catches. */
const factsOf = new WeakMap<Error, object>();

export class OnqueueError<Facts extends object = object> extends Error {
  static {
    // Loggers find them by `for … in`.
    Object.defineProperty(this.prototype, 'facts', { enumerable: true });
  }

  /** Stable over releases. Match on this, never on the message. */
  readonly code: ErrorCode;

  /** The values at fault, for programs. Without passwords, as the message is. */
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
