/** Loads the entities of a run: one call of the adapter for each class, however many places they have. */
import type { Scope } from '../container/scope';
import type { Application } from '../connections/application';
import { placesOfEntities, type EntityAdapter, type HeldEntities } from '../payload/entities';
import { MissingEntityError, invalidEntities } from './errors';
import { UnknownAdapterError } from '../payload/errors';

/** @throws UnknownAdapterError this process has no adapter for some of them */
export function checkAdapters(held: readonly HeldEntities[], { entities }: Application): void {
  for (const { adapter } of held) adapterOf(adapter, entities);
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
 * Puts the entities into their places in `data`.
 *
 * @param job for errors. Undefined: entities that are gone are undefined, and no error
 * @throws MissingEntityError; what an adapter throws
 */
export async function loadEntities(
  { entities }: Application,
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
    const found: unknown = await adapterOf(adapter, entities).load(
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
