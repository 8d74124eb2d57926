/**
 * Rows of libraries without classes, such as Prisma, Drizzle, kysely and knex. `reference('order', 42)` says which row it is, and a
 * function of the configuration loads many at once.
 */
import type { EntityAdapter, EntityReference } from '../index';

/** How rows of one kind are loaded. */
export interface RowLoader {
  /** The rows with these ids, in any order; without those that are gone. */
  // oxlint-disable-next-line typescript/no-explicit-any -- ids have the type that the caller's references have
  many(ids: any[]): Promise<readonly object[]> | readonly object[];
  /** The id of a row. Default: its property `id`. */
  // oxlint-disable-next-line typescript/no-explicit-any -- rows have the type that `many` gives
  id?(row: any): unknown;
}

/** Copies of this package recognise each other's references by it. */
const MARK = Symbol.for('onqueue.reference');

class Reference {
  readonly [MARK]: { readonly kind: string; readonly id: unknown };

  constructor(kind: string, id: unknown) {
    this[MARK] = { kind, id };
  }
}

/**
 * Stands for a row in a job that is dispatched: `Invoice.dispatch(reference<Order>('order', 42))`. The job that runs has the row.
 *
 * @param kind a name of `rows({ … })`
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says what the job will have
export function reference<Row extends object>(kind: string, id: string | number | bigint | object): Row {
  return new Reference(kind, id) as unknown as Row;
}

export function rows(loaders: Readonly<Record<string, RowLoader>>): EntityAdapter {
  for (const [kind, loader] of Object.entries(loaders)) {
    if (typeof (loader as Partial<RowLoader> | undefined)?.many === 'function') continue;
    throw new TypeError(`rows() has no many(ids) for '${kind}'. Write rows({ ${kind}: { many: (ids) => … } }).`);
  }
  const loaderOf = (kind: string): RowLoader => {
    if (Object.hasOwn(loaders, kind)) return loaders[kind]!;
    throw new TypeError(`rows() in the configuration has no '${kind}'; it has ${Object.keys(loaders).join(', ')}.`);
  };
  return {
    name: 'rows',
    identify(value): EntityReference | undefined {
      const referred = (value as Partial<Reference>)[MARK];
      if (referred === undefined) return undefined;
      loaderOf(referred.kind);
      return { class: referred.kind, id: referred.id };
    },
    async load({ class: kind }, ids) {
      const loader = loaderOf(kind);
      const idOf = (row: { readonly id?: unknown }): unknown => (loader.id === undefined ? row.id : loader.id(row));
      return inOrder(ids, await loader.many([...ids]), idOf);
    },
  };
}

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
