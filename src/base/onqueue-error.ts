/**
 * The base of every error that Onqueue throws: a stable code, the facts, and a sentence with the remedy.
 *
 * One subclass stands for each thing that a caller would handle differently. Subclasses live in the `errors.ts` of
 * the folder whose concept they belong to, and are listed with their codes in `docs/errors.md`.
 */
import { bare, redacted, trust } from './foreign-error';
import { redact } from './redact';

export abstract class OnqueueError<Facts extends object = object> extends Error {
  /** Stable over releases: `E_` and the name of the mistake. Match on this, never on the message. */
  abstract readonly code: `E_${string}`;

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
