/** Documents of Mongoose. */
import type { EntityAdapter, EntityReference } from '../index';
import { inOrder } from './in-order';

interface Document {
  readonly _id: unknown;
  readonly isNew: boolean;
}

/** A connection of Mongoose, such as `mongoose.connection`, as far as it is needed. */
export interface MongooseConnection {
  readonly models: Readonly<Record<string, unknown>>;
}

interface Model {
  readonly modelName: string;
  find(filter: object): { exec(): Promise<object[]> };
}

export function mongoose(connection: MongooseConnection): EntityAdapter {
  return {
    name: 'mongoose',
    identify(value): EntityReference | undefined {
      const { modelName } = value.constructor as Partial<Model>;
      if (modelName === undefined || connection.models[modelName] !== value.constructor) return undefined;
      const { _id: id, isNew } = value as Document;
      // An ObjectId travels as its hexadecimal text, from which the schema makes one again.
      return { class: modelName, id: isNew ? undefined : typeof id === 'number' ? id : String(id) };
    },
    async load({ class: name }, ids) {
      const model = connection.models[name] as Model | undefined;
      if (model === undefined) throw new TypeError(`mongoose() knows no model ${name}.`);
      const found = await model.find({ _id: { $in: ids } }).exec();
      return inOrder(ids, found, (entity) => (entity as Document)._id);
    },
  };
}
