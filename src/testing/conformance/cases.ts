/** A case of the suite that is not bound to a store yet. */
import type { Capability } from './harness';
import type { World } from './world';

export interface CaseDefinition {
  readonly name: string;
  readonly requires: readonly Capability[];
  /** The promise is only for drivers that cannot do these. */
  readonly lacks: readonly Capability[];
  readonly run: (world: World) => Promise<void>;
}

/** Cases by their names, each a sentence, for drivers that can do what is required and lack what is named as lacking. */
export function cases(
  requires: readonly Capability[],
  table: Readonly<Record<string, (world: World) => Promise<void>>>,
  lacks: readonly Capability[] = [],
): readonly CaseDefinition[] {
  return Object.entries(table).map(([name, run]) => ({ name, requires, lacks, run }));
}
