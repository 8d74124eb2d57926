/** Texts in the order of a list or of their moments, as cheap at their ends as those of Redis; and how much one call may move. */
import type { Seconds } from '../../base/clock';
import { MOST_BYTES, MOST_JOBS } from '../../base/collections';

/** Payload bytes, one character per byte: such a text can be a key, and compares byte by byte as in Redis. */
export type Text = string;

export const textOf = (bytes: Buffer): Text => bytes.toString('latin1');

export const bytesOf = (text: Text): Buffer => Buffer.from(text, 'latin1');

/** How much one call may move, even with a million jobs due at once. */
export class Budget {
  #jobs = MOST_JOBS;
  #bytes = MOST_BYTES;

  /** Whether `text` may be moved as well. The first text always may, however long: otherwise it would stay forever. */
  charge(text: Text): boolean {
    if (this.#jobs === 0 || (this.#jobs < MOST_JOBS && text.length > this.#bytes)) return false;
    this.#jobs -= 1;
    this.#bytes -= text.length;
    return true;
  }
}

/** Taken elements leave a gap at the front, which is closed once it outweighs the rest. */
const GAP_WORTH_CLOSING = 1024;

/** The ready jobs of a queue. */
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
    if (this.#head >= GAP_WORTH_CLOSING && this.#head * 2 > this.#items.length) this.prepend([]);
    return text;
  }

  /** Removes and returns the first text that matches. */
  remove(isMeant: (text: Text) => boolean): Text | undefined {
    const place = this.#items.findIndex((text, index) => index >= this.#head && isMeant(text));
    return place >= 0 ? this.#items.splice(place, 1)[0] : undefined;
  }

  firstOf(limit: number): readonly Text[] {
    return this.#items.slice(this.#head, this.#head + limit);
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}

export interface Scored {
  readonly text: Text;
  /** The moment when it becomes ready, or its lease ends, in seconds since 1970. */
  readonly score: Seconds;
  /** Which of two at the same moment comes first. A server's clock moves on between two calls; a test's may stand still. */
  readonly rank: number;
}

const precedes = (a: Scored, b: Scored): boolean => {
  if (a.score !== b.score) return a.score < b.score;
  if (a.rank !== b.rank) return a.rank < b.rank;
  return a.text < b.text;
};

/** Texts sorted by score, each once: delayed and reserved jobs. */
export class SortedTexts {
  readonly #byText = new Map<Text, Scored>();
  #order: Scored[] = [];

  get size(): number {
    return this.#order.length;
  }

  has(text: Text): boolean {
    return this.#byText.has(text);
  }

  first(): Scored | undefined {
    return this.#order[0];
  }

  firstOf(limit: number): readonly Scored[] {
    return this.#order.slice(0, limit);
  }

  /** Adds the text, or changes its score. */
  set(text: Text, score: Seconds, rank: number): void {
    this.delete(text);
    const scored = { text, score, rank };
    this.#byText.set(text, scored);
    this.#order.splice(this.#positionOf(scored), 0, scored);
  }

  /** False if it was not there. */
  delete(text: Text): boolean {
    const scored = this.#byText.get(text);
    if (scored === undefined) return false;
    this.#byText.delete(text);
    this.#order.splice(this.#positionOf(scored), 1);
    return true;
  }

  clear(): void {
    this.#byText.clear();
    this.#order = [];
  }

  /** How many come before it. */
  #positionOf(scored: Scored): number {
    let low = 0;
    let high = this.#order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (precedes(this.#order[middle]!, scored)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
