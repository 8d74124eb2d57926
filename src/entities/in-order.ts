/** Puts what a database found, in any order, into the order of the ids it was asked for. */

export function inOrder<Entity extends object>(
  ids: readonly unknown[],
  found: readonly Entity[],
  idOf: (entity: Entity) => unknown,
): (Entity | undefined)[] {
  const byId = new Map(found.map((entity) => [keyOf(idOf(entity)), entity]));
  return ids.map((id) => byId.get(keyOf(id)));
}

// A database may answer '42' or 42n where it was asked for 42.
function keyOf(id: unknown): string {
  if (typeof id !== 'object' || id === null || id instanceof Date)
    return String(id instanceof Date ? id.getTime() : id);
  // An ObjectId, for example, has a text of its own.
  if (Object.getPrototypeOf(id) !== Object.prototype) return (id as { toString(): string }).toString();
  const columns = Object.entries(id).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(columns.map(([column, value]) => [column, keyOf(value)]));
}
