/** A text that grants access. It is not stored itself, and comparing takes the same time however much of a guess is right. */
import { createHash, timingSafeEqual } from 'node:crypto';

export class Secret {
  readonly #digest: Buffer;

  constructor(text: string) {
    this.#digest = digestOf(text);
  }

  matches(text: string): boolean {
    return timingSafeEqual(this.#digest, digestOf(text));
  }
}

/** A key under which something is stored that only whoever knows the text may find. */
export function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
