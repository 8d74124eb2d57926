/** A case of the suite, not yet bound to a store. */
import type { Capability, ConformanceCase } from './harness';
import type { World } from './world';

export interface CaseDefinition extends Omit<ConformanceCase, 'run'> {
  /** The case concerns only drivers without these capabilities. */
  readonly lacks: readonly Capability[];
  readonly run: (world: World) => Promise<void>;
}

/** Cases by name, for drivers that have all capabilities in `requires` and none of those in `lacks`. */
export function cases(
  requires: readonly Capability[],
  table: Readonly<Record<string, (world: World) => Promise<void>>>,
  lacks: readonly Capability[] = [],
): readonly CaseDefinition[] {
  return Object.entries(table).map(([name, run]) => ({ name, requires, lacks, run }));
}
