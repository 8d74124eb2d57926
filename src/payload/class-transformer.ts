/**
 * Finds class-transformer's metadata storage, and the class that carries out a transformation.
 *
 * Neither is exported, so both are read from inside the package, whose last release is 0.5.1. We test whether they belong to
 * the copy that the application's decorators write to: with another copy, excluded properties would be sent.
 */
import { classTransformerMissing } from './errors';

export interface Executor {
  transform(
    source: unknown,
    value: unknown,
    targetType: unknown,
    arrayType: unknown,
    isMap?: boolean,
    level?: number,
  ): unknown;
  getKeys(target: unknown, object: object, isMap: boolean | undefined): string[];
}

/** The decorators' metadata, by class. */
type Metadata = ReadonlyMap<unknown, unknown>;

interface Storage {
  readonly _typeMetadatas: Metadata;
  readonly _transformMetadatas: Metadata;
  readonly _exposeMetadatas: Metadata;
  readonly _excludeMetadatas: Metadata;
  findTypeMetadata(
    target: unknown,
    property: string,
  ): { readonly options?: { readonly discriminator?: unknown } } | undefined;
  findExposeMetadataByCustomName(target: unknown, name: string): { readonly propertyName: string } | undefined;
}

interface Library {
  Expose(): (target: object, property: string) => void;
  readonly TransformationType: { readonly PLAIN_TO_CLASS: number; readonly CLASS_TO_PLAIN: number };
}

export interface ClassTransformer {
  readonly storage: Storage;
  readonly Executor: new (type: number, options: { readonly exposeUnsetFields: boolean }) => Executor;
  readonly TransformationType: Library['TransformationType'];
}

type Build = () => readonly [
  { defaultMetadataStorage: Storage },
  { TransformOperationExecutor: ClassTransformer['Executor'] },
];

/** Node.js loads the first, some bundlers include the second. The names are spelled out so that bundlers find them. */
const BUILDS: readonly Build[] = [
  () => [require('class-transformer/cjs/storage'), require('class-transformer/cjs/TransformOperationExecutor')],
  () => [require('class-transformer/esm5/storage'), require('class-transformer/esm5/TransformOperationExecutor')],
];

let found: ClassTransformer | null | undefined;

/** Null if it is not installed, and so no class has its decorators. @throws E_CLASS_TRANSFORMER */
export function classTransformer(): ClassTransformer | null {
  // A program that never sends a job need not load it.
  if (found === undefined) found = find();
  return found;
}

function find(): ClassTransformer | null {
  let library: Library;
  try {
    library = require('class-transformer');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
  class Probe {}
  library.Expose()(Probe.prototype, 'probe');
  let cause: unknown;
  for (const build of BUILDS) {
    try {
      const [{ defaultMetadataStorage: storage }, { TransformOperationExecutor: Executor }] = build();
      const { TransformationType } = library;
      if (storage._exposeMetadatas.has(Probe)) return { storage, Executor, TransformationType };
    } catch (error) {
      cause ??= error;
    }
  }
  throw classTransformerMissing(cause);
}
