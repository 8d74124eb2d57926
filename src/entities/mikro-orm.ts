/** Entities of MikroORM. They belong to the EntityManager of the run. */
import type { EntityAdapter, EntityReference, Scope, Token } from '../index';
import { inOrder } from './in-order';

interface Metadata {
  readonly className: string;
  readonly class: unknown;
  readonly primaryKeys: readonly string[];
}

interface EntityManager {
  fork(): EntityManager;
  find(entity: never, where: never, options: never): Promise<object[]>;
}

/** What `MikroORM.init()` gives, as far as it is needed. */
export interface MikroOrm {
  readonly em: EntityManager;
  getMetadata(): { getAll(): unknown };
}

/**
 * The run's EntityManager is the one that the container gives for its class, unless that is the global one; otherwise a fork, which
 * `handle()` gets by `@Inject(EntityManager)`. Filters, such as those for soft deletion, do not apply.
 */
export function mikroOrm(orm: MikroOrm): EntityAdapter {
  const all = (): readonly Metadata[] => {
    const known = orm.getMetadata().getAll() as
      | Iterable<readonly [unknown, Metadata]>
      | Readonly<Record<string, Metadata>>;
    return Symbol.iterator in known ? Array.from(known, ([, metadata]) => metadata) : Object.values(known);
  };
  const metadataOf = (value: object): Metadata | undefined => all().find((one) => one.class === value.constructor);
  const idOf = (metadata: Metadata, entity: object): unknown => {
    const columns = metadata.primaryKeys.map((key) => {
      const value = (entity as Readonly<Record<string, unknown>>)[key];
      // A key may be another entity.
      const other = typeof value === 'object' && value !== null ? metadataOf(value) : undefined;
      return [key, other === undefined ? value : idOf(other, value as object)] as const;
    });
    if (columns.some(([, value]) => value === undefined || value === null)) return undefined;
    return columns.length === 1 ? columns[0]![1] : Object.fromEntries(columns);
  };
  return {
    name: 'mikro-orm',
    identify(value): EntityReference | undefined {
      const metadata = metadataOf(value);
      return metadata && { class: metadata.className, id: idOf(metadata, value) };
    },
    async load({ class: name }, ids, scope) {
      const metadata = all().find((one) => one.className === name);
      if (metadata === undefined) throw new TypeError(`mikroOrm() knows no entity ${name}.`);
      const [key] = metadata.primaryKeys;
      const where = metadata.primaryKeys.length === 1 ? { [key!]: { $in: ids } } : { $or: ids };
      const found = await managerOf(orm, scope).find(
        metadata.class as never,
        where as never,
        { filters: false } as never,
      );
      return inOrder(ids, found, (entity) => idOf(metadata, entity));
    },
  };
}

/** The EntityManager of the run. */
function managerOf({ em }: MikroOrm, scope: Scope): EntityManager {
  const tokens: Token[] = [];
  for (let token: unknown = em.constructor; token !== Function.prototype; token = Object.getPrototypeOf(token))
    tokens.push(token as Token);
  for (const token of tokens) {
    try {
      const given = scope.resolve(token);
      if (given !== em && given instanceof (tokens.at(-1) as new () => EntityManager)) return given;
    } catch {
      // The container does not know it.
    }
  }
  const fork = em.fork();
  for (const token of tokens) scope.register(token, fork);
  return fork;
}
