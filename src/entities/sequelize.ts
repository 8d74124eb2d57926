/** Models of Sequelize. */
import type { EntityAdapter, EntityReference } from '../index';
import { inOrder } from './in-order';

interface Instance {
  readonly isNewRecord: boolean;
  get(attribute: string): unknown;
}

interface Model {
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
      const model = value.constructor as unknown as Model;
      if (source.models[model.name] !== model) return undefined;
      return { class: model.name, id: (value as Instance).isNewRecord ? undefined : idOf(model, value) };
    },
    async load({ class: name }, ids) {
      const model = source.models[name] as Model | undefined;
      if (model === undefined) throw new TypeError(`sequelize() knows no model ${name}.`);
      const [key] = model.primaryKeyAttributes;
      const { or } = (source.constructor as unknown as { readonly Op: { readonly or: symbol } }).Op;
      const where = model.primaryKeyAttributes.length === 1 ? { [key!]: ids } : { [or]: ids };
      const found = await model.findAll({ where, paranoid: false } as never);
      return inOrder(ids, found, (entity) => idOf(model, entity));
    },
  };
}

function idOf({ primaryKeyAttributes }: Model, entity: object): unknown {
  const columns = primaryKeyAttributes.map((key) => [key, (entity as Instance).get(key)] as const);
  return columns.length === 1 ? columns[0]![1] : Object.fromEntries(columns);
}
