/** Entities travel as references, such as `{ "class": "Order", "id": 42 }`, and are loaded again before they are used. */
import type { Scope } from '../container/scope';
import { InvalidPayloadError } from './errors';
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
