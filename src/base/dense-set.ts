/**
 * A set of what comes and goes often, kept in one array whose members know their places.
 *
 * A `Set` or `Map` is copied every so often, and each copy is kept alive by the one before: what stood in them is garbage
 * that only a full collection finds, and each small one copies it.
 */

export interface DenseSetMember {
  /** The set's: where in it the member stands. A member is in one set at most. */
  position: number | undefined;
}

export class DenseSet<M extends DenseSetMember> {
  readonly #members: M[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: M): void {
    if (member.position !== undefined) return;
    member.position = this.#members.length;
    this.#members.push(member);
  }

  /** The last one takes its place. */
  delete(member: M): void {
    const { position } = member;
    if (position === undefined) return;
    const last = this.#members.pop()!;
    if (last !== member) {
      this.#members[position] = last;
      last.position = position;
    }
    member.position = undefined;
  }

  has(member: M): boolean {
    return member.position !== undefined;
  }

  clear(): void {
    for (const member of this.#members) member.position = undefined;
    this.#members.length = 0;
  }

  /** As they are now, whatever comes and goes meanwhile. In no order. */
  [Symbol.iterator](): IterableIterator<M> {
    return this.#members.slice().values();
  }
}
