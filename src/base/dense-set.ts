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

  get size(): number {
    return this.#members.length;
  }

  add(member: M): void {
    if (member.position !== undefined) return;
    member.position = this.#members.length;
    this.#members.push(member);
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
  }

  has(member: M): boolean {
    return member.position !== undefined;
  }

  clear(): void {
    for (const member of this.#members) member.position = undefined;
    this.#members.length = 0;
  }

  /** The members at this moment, whatever comes and goes meanwhile. Unordered. */
  [Symbol.iterator](): IterableIterator<M> {
    return this.#members.slice().values();
  }
}
