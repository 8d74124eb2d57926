/** Entities of TypeORM. */
import type { EntityAdapter, EntityReference } from '../index';
import { inOrder } from './in-order';

interface Metadata {
  readonly name: string;
  readonly target: unknown;
  readonly primaryColumns: readonly unknown[];
  getEntityIdMap(entity: object): object | undefined;
}

interface Query {
  whereInIds(ids: never): { getMany(): Promise<object[]> };
}

/** A DataSource of TypeORM, as far as it is needed. */
export interface TypeOrmSource {
  readonly entityMetadatas: readonly Metadata[];
  hasMetadata(target: never): boolean;
  getMetadata(target: never): Metadata;
  getRepository(target: never): { createQueryBuilder(alias: string): { setFindOptions(options: object): Query } };
}

/**
 * Entities with a soft-delete column are loaded also when they are deleted.
 *
 * @param source a DataSource; or several by name, such as `{ shop, archive }`: the names tell them apart in payloads
 */
export function typeorm(source: TypeOrmSource | Readonly<Record<string, TypeOrmSource>>): EntityAdapter {
  const isOne = (given: typeof source): given is TypeOrmSource => typeof given.getRepository === 'function';
  const sources = isOne(source) ? [[undefined, source] as const] : Object.entries(source);
  return {
    name: 'typeorm',
    identify(value): EntityReference | undefined {
      const found = sources.find(([, one]) => one.hasMetadata(value.constructor as never));
      if (found === undefined) return undefined;
      const metadata = found[1].getMetadata(value.constructor as never);
      return { class: metadata.name, id: idOf(metadata, value), connection: found[0] };
    },
    async load({ class: name, connection }, ids) {
      const [, one] = sources.find(([known]) => known === connection) ?? [];
      const metadata = one?.entityMetadatas.find((entity) => entity.name === name);
      if (one === undefined || metadata === undefined) {
        const place = connection === undefined ? '' : ` in '${connection}'`;
        throw new TypeError(`typeorm() in the configuration knows no entity ${name}${place}.`);
      }
      const query = one.getRepository(metadata.target as never).createQueryBuilder('entity');
      const found = await query
        .setFindOptions({ withDeleted: true })
        .whereInIds(ids as never)
        .getMany();
      return inOrder(ids, found, (entity) => idOf(metadata, entity));
    },
  };
}

function idOf(metadata: Metadata, entity: object): unknown {
  const id = metadata.getEntityIdMap(entity);
  if (id === undefined || metadata.primaryColumns.length > 1) return id;
  return Object.values(id)[0];
}
