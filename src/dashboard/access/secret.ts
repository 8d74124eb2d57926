/** A text that lets somebody in. It is not kept itself, and comparing it takes the same time however much of it is right. */
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

/** Under which something is kept that only who knows the text may find. */
export function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
