/** Models of Eloquent. Laravel sends the name of their class and their id, and loads them again where the job runs. */
import { PhpArray, PhpObject, type PhpValue } from './php-text';

/** Copies of this package recognise each other's references by it. */
const MARK = Symbol.for('onqueue.laravel.model');

interface ModelOptions {
  /** What Laravel loads with it. Default: none. */
  readonly relations?: readonly string[];
  /** Of the database. Default: that of its class. */
  readonly connection?: string | undefined;
}

/** Stands for a model, or for several of one class. */
export class ModelReference {
  /** Its class in PHP. */
  readonly class: string;
  /** A list stands for a collection of models. */
  readonly id: unknown;
  readonly relations: readonly string[];
  readonly connection: string | undefined;

  constructor(name: string, id: unknown, { relations = [], connection }: ModelOptions = {}) {
    this.class = name;
    this.id = id;
    this.relations = relations;
    this.connection = connection;
  }

  get [MARK](): true {
    return true;
  }
}

/** A model for a job that Laravel runs: `model('App\\Models\\User', 7)`. With a list of ids, it is a collection. */
export function model(name: string, id: string | number | readonly unknown[], options?: ModelOptions): ModelReference {
  return new ModelReference(name, id, options);
}

export const isModel = (value: object): value is ModelReference => MARK in value;

const IDENTIFIER = 'Illuminate\\Contracts\\Database\\ModelIdentifier';

/** Undefined if the object is no reference to a model. @param read gives the values in it */
export function modelOf({ name, properties }: PhpObject, read: (value: PhpValue) => unknown): object | undefined {
  const [target, id, relations, connection] = ['class', 'id', 'relations', 'connection'].map((property) =>
    properties.get(property),
  );
  if (name !== IDENTIFIER || typeof target !== 'string') return undefined;
  return new ModelReference(target, read(id ?? null), {
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
