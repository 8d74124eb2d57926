/** A list of texts that is cheap at both ends, as a Redis list is: the ready jobs of a queue. */
import type { Text } from './text';

/** Taken elements leave a gap at the front; it is closed once it outweighs what is left. */
const GAP_WORTH_CLOSING = 1024;

export class TextList {
  #items: Text[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  append(text: Text): void {
    this.#items.push(text);
  }

  /** Puts `texts` in front of all others, in their order. */
  prepend(texts: readonly Text[]): void {
    this.#items = [...texts, ...this.#items.slice(this.#head)];
    this.#head = 0;
  }

  first(): Text | undefined {
    return this.#items[this.#head];
  }

  take(): Text | undefined {
    const text = this.#items[this.#head];
    if (text === undefined) return undefined;
    this.#items[this.#head] = '';
    this.#head += 1;
    if (this.#head >= GAP_WORTH_CLOSING && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return text;
  }

  /** Removes the first that is meant. False: there is none. */
  remove(isMeant: (text: Text) => boolean): boolean {
    const place = this.#items.findIndex((text, index) => index >= this.#head && isMeant(text));
    if (place >= 0) this.#items.splice(place, 1);
    return place >= 0;
  }

  firstOf(limit: number): readonly Text[] {
    return this.#items.slice(this.#head, this.#head + limit);
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}
