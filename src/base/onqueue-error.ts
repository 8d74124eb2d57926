/** The base of every error that Onqueue throws. `define-error.ts` tells how to add one. */
import { bare, redacted, trust } from './foreign-error';
import { redact } from './redact';

export type ErrorCode = `E_${string}`;

export abstract class OnqueueError<Facts extends object = object> extends Error {
  /** Stable over releases. Match on this, never on the message. */
  abstract readonly code: ErrorCode;

  /** The values at fault, for programs. Without passwords, as the message is. */
  readonly facts: Readonly<Facts>;

  /** @param options.cause kept without what its thrower hung on it, such as a command with its payload */
  constructor(message: string, facts: Facts, options?: { cause?: unknown }) {
    const cause = bare(options?.cause);
    super(redact(message), cause === undefined ? undefined : { cause });
    this.facts = redacted(facts);
    this.name = new.target.name;
    trust(this);
  }
}
