/** A map with a bounded number of entries, for keys that others invent without end, such as queue names and job ids. */
export class Recent<Key, Value> {
  readonly #most: number;
  readonly #mayGo: (value: Value) => boolean;
  readonly #values = new Map<Key, Value>();
  /** The size at which entries are removed. Doubled while all entries are needed, so that not every `set` searches them all. */
  #room: number;

  /** @param mayGo whether nobody needs the value any more; a needed value stays, whatever their number */
  constructor(most: number, mayGo: (value: Value) => boolean = () => true) {
    this.#most = most;
    this.#room = most;
    this.#mayGo = mayGo;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  /** The existing value, or a new one. */
  ensure(key: Key, make: () => Value): Value {
    let value = this.#values.get(key);
    if (value === undefined) this.set(key, (value = make()));
    return value;
  }

  has(key: Key): boolean {
    return this.#values.has(key);
  }

  keys(): Iterable<Key> {
    return this.#values.keys();
  }

  values(): Iterable<Value> {
    return this.#values.values();
  }

  /** Removes the oldest entries if there are too many. */
  set(key: Key, value: Value): void {
    this.#values.set(key, value);
    if (this.#values.size <= this.#room) return;
    for (const [oldest, one] of this.#values) {
      if (this.#values.size <= this.#most) break;
      if (oldest !== key && this.#mayGo(one)) this.#values.delete(oldest);
    }
    this.#room = this.#values.size <= this.#most ? this.#most : this.#values.size * 2;
  }

  delete(key: Key): void {
    this.#values.delete(key);
  }

  clear(): void {
    this.#values.clear();
  }
}
