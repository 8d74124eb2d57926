/** Adapters for the entities of TypeORM, MikroORM (whose belong to the EntityManager of the run), Sequelize and Mongoose. */
import type { EntityAdapter, EntityReference, Scope, Token } from '../index';
import { inOrder } from './rows';

interface TypeOrmEntity {
  readonly name: string;
  readonly target: unknown;
  readonly primaryColumns: readonly unknown[];
  getEntityIdMap(entity: object): object | undefined;
}

interface TypeOrmQuery {
  whereInIds(ids: never): { getMany(): Promise<object[]> };
}

/** A DataSource of TypeORM, as far as it is needed. */
export interface TypeOrmSource {
  readonly entityMetadatas: readonly TypeOrmEntity[];
  hasMetadata(target: never): boolean;
  getMetadata(target: never): TypeOrmEntity;
  getRepository(target: never): {
    createQueryBuilder(alias: string): { setFindOptions(options: object): TypeOrmQuery };
  };
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
      return { class: metadata.name, id: typeOrmId(metadata, value), connection: found[0] };
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
      return inOrder(ids, found, (entity) => typeOrmId(metadata, entity));
    },
  };
}

function typeOrmId(metadata: TypeOrmEntity, entity: object): unknown {
  const id = metadata.getEntityIdMap(entity);
  if (id === undefined || metadata.primaryColumns.length > 1) return id;
  return Object.values(id)[0];
}

interface MikroEntity {
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
  const all = (): readonly MikroEntity[] => {
    const known = orm.getMetadata().getAll() as
      | Iterable<readonly [unknown, MikroEntity]>
      | Readonly<Record<string, MikroEntity>>;
    return Symbol.iterator in known ? Array.from(known, ([, metadata]) => metadata) : Object.values(known);
  };
  const metadataOf = (value: object): MikroEntity | undefined => all().find((one) => one.class === value.constructor);
  const idOf = (metadata: MikroEntity, entity: object): unknown => {
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

interface SequelizeInstance {
  readonly isNewRecord: boolean;
  get(attribute: string): unknown;
}

interface SequelizeModel {
  readonly name: string;
  readonly primaryKeyAttributes: readonly string[];
  readonly sequelize?: unknown;
  findAll(options: never): Promise<object[]>;
}

/** An instance of Sequelize, as far as it is needed. */
export interface SequelizeLike {
  readonly models: Readonly<Record<string, unknown>>;
}

/** Paranoid models are loaded also when they are deleted. */
export function sequelize(source: SequelizeLike): EntityAdapter {
  return {
    name: 'sequelize',
    identify(value): EntityReference | undefined {
      const model = value.constructor as unknown as SequelizeModel;
      if (source.models[model.name] !== model) return undefined;
      return {
        class: model.name,
        id: (value as SequelizeInstance).isNewRecord ? undefined : sequelizeId(model, value),
      };
    },
    async load({ class: name }, ids) {
      const model = source.models[name] as SequelizeModel | undefined;
      if (model === undefined) throw new TypeError(`sequelize() knows no model ${name}.`);
      const [key] = model.primaryKeyAttributes;
      const { or } = (source.constructor as unknown as { readonly Op: { readonly or: symbol } }).Op;
      const where = model.primaryKeyAttributes.length === 1 ? { [key!]: ids } : { [or]: ids };
      const found = await model.findAll({ where, paranoid: false } as never);
      return inOrder(ids, found, (entity) => sequelizeId(model, entity));
    },
  };
}

function sequelizeId({ primaryKeyAttributes }: SequelizeModel, entity: object): unknown {
  const columns = primaryKeyAttributes.map((key) => [key, (entity as SequelizeInstance).get(key)] as const);
  return columns.length === 1 ? columns[0]![1] : Object.fromEntries(columns);
}

interface MongooseDocument {
  readonly _id: unknown;
  readonly isNew: boolean;
}

/** A connection of Mongoose, such as `mongoose.connection`, as far as it is needed. */
export interface MongooseConnection {
  readonly models: Readonly<Record<string, unknown>>;
}

interface MongooseModel {
  readonly modelName: string;
  find(filter: object): { exec(): Promise<object[]> };
}

/** Documents of Mongoose. */
export function mongoose(connection: MongooseConnection): EntityAdapter {
  return {
    name: 'mongoose',
    identify(value): EntityReference | undefined {
      const { modelName } = value.constructor as Partial<MongooseModel>;
      if (modelName === undefined || connection.models[modelName] !== value.constructor) return undefined;
      const { _id: id, isNew } = value as MongooseDocument;
      // An ObjectId travels as its hexadecimal text, from which the schema makes one again.
      return { class: modelName, id: isNew ? undefined : typeof id === 'number' ? id : String(id) };
    },
    async load({ class: name }, ids) {
      const model = connection.models[name] as MongooseModel | undefined;
      if (model === undefined) throw new TypeError(`mongoose() knows no model ${name}.`);
      const found = await model.find({ _id: { $in: ids } }).exec();
      return inOrder(ids, found, (entity) => (entity as MongooseDocument)._id);
    },
  };
}
