/**
 * The base of every error that Onqueue throws: a stable code, the facts, and a sentence with the remedy.
 *
 * One subclass stands for each thing that a caller would handle differently. Subclasses live in the `errors.ts` of
 * the folder whose concept they belong to, and are listed with their codes in `docs/errors.md`.
 */
export abstract class OnqueueError<Facts extends object = object> extends Error {
  /** Stable over releases: `E_` and the name of the mistake. Match on this, never on the message. */
  abstract readonly code: `E_${string}`;

  /** The values at fault, for programs. Never holds a password. */
  readonly facts: Readonly<Facts>;

  constructor(message: string, facts: Facts, options?: { cause?: unknown }) {
    super(message, options);
    this.facts = facts;
    this.name = new.target.name;
  }
}
