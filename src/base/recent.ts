/** What is kept by names that others make up without end, such as those of queues and the ids of jobs: so many at most. */
export class Recent<Key, Value> {
  readonly #most: number;
  readonly #mayGo: (value: Value) => boolean;
  readonly #values = new Map<Key, Value>();
  /** How many there may be until they are gone through again: where all are needed, not for each that comes. */
  #room: number;

  /** @param mayGo whether nobody needs the value any more; one that is needed stays, whatever their number */
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

  /** What is there, or what is made now. */
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

  /** The oldest go. */
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
