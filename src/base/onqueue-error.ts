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

export class OnqueueError<Facts extends object = object> extends Error {
  /** Stable over releases. Match on this, never on the message. */
  readonly code: ErrorCode;

  /** The values at fault, for programs. Without passwords, as the message is. */
  readonly facts: Readonly<Facts>;

  constructor(code: ErrorCode, { message, facts = {} as Facts, cause: given }: Description<Facts>) {
    const cause = bare(given);
    super(redact(message), cause === undefined ? undefined : { cause });
    this.code = code;
    this.facts = redacted(facts);
    this.name = new.target.name;
    trust(this);
  }
}
