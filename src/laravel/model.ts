/** Models of Eloquent. Laravel sends the name of their class and their id, and loads them again where the job runs. */
import { PhpArray, PhpObject, type PhpValue } from './php-text';

/** Stands for a model, or for several of one class. */
export interface ModelReference {
  /** Its class in PHP. */
  readonly class: string;
  /** A list stands for a collection of models. */
  readonly id: string | number | readonly (string | number)[];
  /** What Laravel loads with it. */
  readonly relations: readonly string[];
  /** Of the database. Undefined: that of its class. */
  readonly connection: string | undefined;
}

/** Copies of this package recognise each other's references by it. */
const MARK = Symbol.for('onqueue.laravel.model');

/** A model for a job that Laravel runs: `model('App\\Models\\User', 7)`. With a list of ids, it is a collection. */
export function model(
  name: string,
  id: ModelReference['id'],
  { relations = [], connection }: Partial<Pick<ModelReference, 'relations' | 'connection'>> = {},
): ModelReference {
  return Object.defineProperty({ class: name, id, relations, connection }, MARK, { value: true });
}

export const isModel = (value: object): value is ModelReference => MARK in value;

const IDENTIFIER = 'Illuminate\\Contracts\\Database\\ModelIdentifier';

/** Undefined if the object is no reference to a model. @param read gives the values in it */
export function modelOf({ name, properties }: PhpObject, read: (value: PhpValue) => unknown): object | undefined {
  const [target, id, relations, connection] = ['class', 'id', 'relations', 'connection'].map((property) =>
    properties.get(property),
  );
  if (name !== IDENTIFIER || typeof target !== 'string') return undefined;
  return model(target, read(id ?? null) as ModelReference['id'], {
    relations: relations instanceof PhpArray ? [...relations.entries.values()].map(String) : [],
    connection: typeof connection === 'string' ? connection : undefined,
  });
}

/** @param write gives the values in it */
export function phpModel(
  { class: target, id, relations, connection }: ModelReference,
  write: (value: unknown) => PhpValue,
): PhpObject {
  const entries = { class: target, id: write(id), relations: write(relations), connection: connection ?? null };
  return new PhpObject(IDENTIFIER, new Map(Object.entries(entries)));
}
