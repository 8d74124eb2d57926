/** Texts in the order of their scores, each once, as in a Redis sorted set: delayed and reserved jobs. */
import type { Seconds } from '../../base/clock';
import type { Text } from './text';

export interface Scored {
  readonly text: Text;
  /** The moment when it becomes ready, or its lease ends: seconds since 1970. */
  readonly score: Seconds;
  /** Which comes first of two at one moment: a server's clock moves on between two calls, but a test's may stand still. */
  readonly rank: number;
}

const precedes = (a: Scored, b: Scored): boolean => {
  if (a.score !== b.score) return a.score < b.score;
  if (a.rank !== b.rank) return a.rank < b.rank;
  return a.text < b.text;
};

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

  /** Adds the text, or gives it another score. */
  set(text: Text, score: Seconds, rank: number): void {
    this.delete(text);
    const scored = { text, score, rank };
    this.#byText.set(text, scored);
    this.#order.splice(this.#positionOf(scored), 0, scored);
  }

  /** False: it was not there. */
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

  /** How many stand before it. */
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
