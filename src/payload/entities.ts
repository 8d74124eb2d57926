/** Entities travel as references, such as `{ "class": "Order", "id": 42 }`, and are loaded again before they are used. */
import type { Scope } from '../container/scope';
import { InvalidPayloadError, invalidEntities, MissingEntityError, UnknownAdapterError } from './errors';
import { isRecord } from './values';

/** Tells an entity from all others. */
export interface EntityReference extends EntityClass {
  /** As JSON: a string or a number, or an object if it has several columns. Undefined or null: it was not saved yet. */
  readonly id: unknown;
}

export interface EntityClass {
  /** The name of the entity's class. */
  readonly class: string;
  /** Where it is kept, if there are several places. */
  readonly connection?: string | undefined;
}

/** Teaches Onqueue the entities of a library. */
export interface EntityAdapter {
  /** In payloads. */
  readonly name: string;
  /** Undefined if the value is none of its entities. */
  identify(value: object): EntityReference | undefined;
  /** The entities with these ids, in the same order; undefined or null for those that are gone. @param scope the run's */
  load(from: EntityClass, ids: readonly unknown[], scope: Scope): Promise<readonly (object | null | undefined)[]>;
}

const ONE = 'entity:';
const LIST = 'entities:';

export const typeOfEntity = (adapter: string): string => ONE + adapter;

/** A list of entities of one class has a form of its own. Undefined if the list is not one. */
export function listForm(
  items: readonly unknown[],
  types: readonly (string | undefined)[],
): { readonly type: string; readonly form: object } | undefined {
  const [first, ...others] = items as readonly EntityReference[];
  const [type] = types;
  if (first === undefined || others.length === 0 || type?.startsWith(ONE) !== true) return undefined;
  const isAlike = others.every((one) => one.class === first.class && one.connection === first.connection);
  if (!isAlike || types.some((each) => each !== type)) return undefined;
  const ids = (items as readonly EntityReference[]).map(({ id }) => id);
  return { type: LIST + type.slice(ONE.length), form: { ...first, id: undefined, ids } };
}

/** What a run holds in place of entities until they are loaded. */
export interface EntityHolder {
  held?: HeldEntities[] | undefined;
}

/** Stands for one entity, or for a list of them, until they are loaded. */
export class HeldEntities implements EntityClass {
  readonly class: string;
  readonly connection?: string | undefined;
  /** Undefined if it stands for a list. */
  readonly id?: unknown;
  readonly ids?: readonly unknown[] | undefined;
  readonly #adapter: string;

  constructor(adapter: string, form: EntityClass & Pick<HeldEntities, 'id' | 'ids'>) {
    this.#adapter = adapter;
    this.class = form.class;
    if (form.connection !== undefined) this.connection = form.connection;
    if (form.ids === undefined) this.id = form.id;
    else this.ids = form.ids;
  }

  get adapter(): string {
    return this.#adapter;
  }

  /** Undefined if the type is none of entities. @throws InvalidPayloadError */
  static read(type: string, form: unknown, pointer: string): HeldEntities | undefined {
    const prefix = [ONE, LIST].find((one) => type.startsWith(one));
    if (prefix === undefined) return undefined;
    const { class: name, connection, id, ids } = isRecord(form) ? form : {};
    const isList = prefix === LIST && Array.isArray(ids);
    const isOne = prefix === ONE && id !== undefined && id !== null;
    const isPlace = connection === undefined || typeof connection === 'string';
    if (typeof name !== 'string' || !isPlace || !(isList || isOne))
      throw new InvalidPayloadError('the value there is no reference to an entity', pointer);
    return new HeldEntities(type.slice(prefix.length), { class: name, connection, id, ids: isList ? ids : undefined });
  }
}

/** Gives each entity of a list a place of its own, as before the list was encoded, so that the data can be encoded once more. */
export function separate(data: object): void {
  for (const { holder, key, held } of [...placesOfEntities(data)]) {
    const { adapter, class: name, connection, ids } = held;
    if (ids === undefined) continue;
    const each = ids.map((id) => new HeldEntities(adapter, { class: name, connection, id }));
    Reflect.set(holder, key, each);
  }
}

/** Where entities are missing within data. */
export function* placesOfEntities(
  data: object,
): Iterable<{ readonly holder: object; readonly key: string; readonly held: HeldEntities }> {
  for (const [key, value] of Object.entries(data) as Iterable<[string, unknown]>) {
    if (value instanceof HeldEntities) yield { holder: data, key, held: value };
    else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) yield* placesOfEntities(value);
  }
}

/** @throws UnknownAdapterError this process has no adapter for some of them */
export function checkAdapters(held: readonly HeldEntities[], adapters: readonly EntityAdapter[]): void {
  for (const { adapter } of held) adapterOf(adapter, adapters);
}

function adapterOf(name: string, adapters: readonly EntityAdapter[]): EntityAdapter {
  const adapter = adapters.find((one) => one.name === name);
  if (adapter === undefined) throw new UnknownAdapterError(name);
  return adapter;
}

/** The entities of one class. */
interface Group {
  readonly from: HeldEntities;
  /** By key, so that each is loaded once and is one object wherever it is. */
  readonly ids: Map<string, unknown>;
}

/**
 * Loads the entities into their places in `data`: one call of the adapter for each class, however many places they have.
 *
 * @param job for errors. Undefined: entities that are gone are undefined, and no error
 * @throws MissingEntityError; what an adapter throws
 */
export async function loadEntities(
  adapters: readonly EntityAdapter[],
  data: object,
  held: readonly HeldEntities[],
  scope: Scope,
  job?: { readonly name: string; readonly id: string },
): Promise<void> {
  const groups = new Map<string, Group>();
  for (const one of held) {
    const key = groupOf(one);
    const group = groups.get(key) ?? { from: one, ids: new Map<string, unknown>() };
    groups.set(key, group);
    for (const id of idsOf(one)) group.ids.set(keyOf(id), id);
  }
  const loaded = new Map<string, ReadonlyMap<string, object>>();
  const load = async (key: string, { from, ids }: Group): Promise<void> => {
    const { adapter, class: name, connection } = from;
    const found: unknown = await adapterOf(adapter, adapters).load(
      { class: name, connection },
      [...ids.values()],
      scope,
    );
    if (!Array.isArray(found) || found.length !== ids.size) throw invalidEntities(adapter, name, ids.size, found);
    loaded.set(
      key,
      new Map([...ids.keys()].flatMap((id, place) => (found[place] ? [[id, found[place] as object]] : []))),
    );
  };
  await Promise.all(Array.from(groups, ([key, group]) => load(key, group)));
  for (const { holder, key, held: place } of [...placesOfEntities(data)]) {
    const found = loaded.get(groupOf(place))!;
    const values = idsOf(place).map((id) => {
      const entity = found.get(keyOf(id));
      if (entity === undefined && job !== undefined) throw new MissingEntityError(place.class, id, job.name, job.id);
      return entity;
    });
    Reflect.set(holder, key, place.ids === undefined ? values[0] : values);
  }
}

const idsOf = ({ id, ids }: HeldEntities): readonly unknown[] => ids ?? [id];

const groupOf = ({ adapter, class: name, connection = '' }: HeldEntities): string =>
  JSON.stringify([adapter, name, connection]);

const keyOf = (id: unknown): string =>
  JSON.stringify(id, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
