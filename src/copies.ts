/**
 * Several copies of one version of the package in a process, such as one in a bundle and one that the command loads: the first
 * stands in for all. Without this, each copy would have its own `Queue`, runs and injections.
 *
 * Each entry point replaces its `module.exports` by those of the first copy: a simpler way would have to keep every class and all
 * state on `globalThis`, and `instanceof` would still tell the copies apart.
 */
import { VERSION } from './version';

const SLOT = Symbol.for(`onqueue@${VERSION}`);

type Entry = 'index' | 'testing' | 'dashboard';

/** The entry points of a copy, loaded on demand. */
interface Entries {
  index(): object;
  testing(): object;
  dashboard(): object;
  /** The exports that were loaded so far. A test runner that resets its modules would load them anew, beside the rest. */
  readonly exported: { [entry in Entry]?: unknown };
}

const slots = globalThis as { [SLOT]?: Entries };
let own: Entries | undefined;

export function offerEntries(entries: Entries): void {
  own = entries;
  slots[SLOT] ??= entries;
}

/**
 * Called at the end of an entry point: exports what the first copy exports.
 *
 * @param module assigned in a call, because Node.js would not find the names that ES modules import from an entry point that
 * assigns itself
 */
export function giveWay(entry: Entry, module: { exports: unknown }): void {
  const first = slots[SLOT];
  if (first === undefined) return;
  if (first === own) first.exported[entry] = module.exports;
  else module.exports = first.exported[entry] ?? first[entry]();
}
