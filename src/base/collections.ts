/** Collections: a map with bounds, a set whose members come and go often, groups, and pages of a list for one call to a store. */

/** A map with a bounded number of entries, for keys that others invent without end, such as queue names and job ids. */
export class Recent<Key, Value> extends Map<Key, Value> {
  readonly #most: number;
  readonly #mayGo: (value: Value) => boolean;
  /** The size at which entries are removed. Doubled while all entries are needed, so that not every `set` searches them all. */
  #room: number;

  /** @param mayGo whether nobody needs the value any more; a needed value stays, whatever their number */
  constructor(most: number, mayGo: (value: Value) => boolean = () => true) {
    super();
    this.#most = most;
    this.#room = most;
    this.#mayGo = mayGo;
  }

  /** The existing value, or a new one. */
  ensure(key: Key, make: () => Value): Value {
    let value = this.get(key);
    if (value === undefined) this.set(key, (value = make()));
    return value;
  }

  /** Removes the oldest entries if there are too many. */
  override set(key: Key, value: Value): this {
    super.set(key, value);
    if (this.size <= this.#room) return this;
    for (const [oldest, one] of this) {
      if (this.size <= this.#most) break;
      if (oldest !== key && this.#mayGo(one)) this.delete(oldest);
    }
    this.#room = this.size <= this.#most ? this.#most : this.size * 2;
    return this;
  }
}

/**
 * A set for members that come and go often: one array whose members know their positions.
 *
 * V8 copies a `Set` or `Map` every so often, and each copy is kept alive by the one before. Removed members then become garbage
 * that only a full collection finds, and each small collection copies them.
 */

export interface DenseSetMember {
  /** Owned by the set: the member's position in it. A member is in at most one set. */
  position: number | undefined;
}

export class DenseSet<M extends DenseSetMember> {
  readonly #members: M[] = [];
  /** How many there are: written here alone. A field, because it is asked for more often than they change. */
  size = 0;

  add(member: M): void {
    if (member.position !== undefined) return;
    member.position = this.size;
    this.size = this.#members.push(member);
  }

  /** The last member takes the free position. */
  delete(member: M): void {
    const { position } = member;
    if (position === undefined) return;
    const last = this.#members.pop()!;
    if (last !== member) {
      this.#members[position] = last;
      last.position = position;
    }
    member.position = undefined;
    this.size = this.#members.length;
  }

  has(member: M): boolean {
    return member.position !== undefined;
  }

  clear(): void {
    for (const member of this.#members) member.position = undefined;
    this.size = this.#members.length = 0;
  }

  /** The members at this moment, whatever comes and goes meanwhile. Unordered. */
  [Symbol.iterator](): IterableIterator<M> {
    return this.#members.slice().values();
  }
}

/** Groups items by a key; each group keeps their order. */
export function groupsOf<Item, Key>(
  items: Iterable<Item>,
  keyOf: (item: Item) => Key,
): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** How much one call to a store may move, so that it does not block the store: jobs, and bytes of their payloads. */
export const MOST_JOBS = 100;
export const MOST_BYTES = 1024 * 1024;

/** 100 texts of this many characters stay below a third of a MiB. */
const SHORT = 1024;

/**
 * Cuts a list into pages, one for each call. A page has at least one item, however long. `jobsOf`: how many jobs an item stands
 * for.
 */
export function* pagesOf<T>(
  items: readonly T[],
  bytesOf: (item: T) => number,
  most = MOST_JOBS,
  mostBytes = MOST_BYTES,
  jobsOf?: (item: T) => number,
): Generator<readonly T[]> {
  for (let start = 0; start < items.length;) {
    const end = endOfPage(items, bytesOf, start, most, mostBytes, jobsOf);
    yield items.slice(start, end);
    start = end;
  }
}

/** The end of the page that begins at `start`. */
export function endOfPage<T>(
  items: readonly T[],
  bytesOf: (item: T) => number,
  start = 0,
  most = MOST_JOBS,
  mostBytes = MOST_BYTES,
  jobsOf?: (item: T) => number,
): number {
  let jobs = 0;
  let bytes = 0;
  for (let at = start; at < items.length; at += 1) {
    jobs += jobsOf?.(items[at]!) ?? 1;
    bytes += bytesOf(items[at]!);
    if (at > start && (jobs > most || bytes > mostBytes)) return at;
  }
  return items.length;
}

/**
 * How many items to read next if their size is unknown: one, and then as many as have room in a page if they are as large as
 * those before.
 */
export function nextToRead(most: number, read: number, bytes: number): number {
  return read === 0 ? 1 : Math.min(most, MOST_JOBS, Math.max(1, Math.floor((MOST_BYTES * read) / Math.max(1, bytes))));
}

/**
 * The bytes of a text, for a call that carries up to 100 texts or 1 MiB. For a short text, an upper bound: 100 of those come
 * nowhere near 1 MiB, and counting exactly would cost as much as writing.
 */
export function pageBytes(text: string): number {
  return text.length <= SHORT ? text.length * 3 : Buffer.byteLength(text);
}
