/**
 * Several copies of one version of the package in a process, such as one in a bundle and one that the command loads: the
 * first stands in for all. Without this, each would have a `Queue`, runs and injections of its own.
 *
 * Each entry point swaps its `module.exports` for those of the first copy: anything simpler would have to keep every class
 * and every piece of state on `globalThis`, and `instanceof` would still tell the copies apart.
 */
import { VERSION } from './version';

const SLOT = Symbol.for(`onqueue@${VERSION}`);

type Entry = 'index' | 'testing' | 'dashboard';

/** What a copy exports; loaded when it is asked for. */
interface Entries {
  index(): object;
  testing(): object;
  dashboard(): object;
  /** What was loaded of it. A test runner that resets its modules would load it anew, beside the rest. */
  readonly exported: { [entry in Entry]?: unknown };
}

const slots = globalThis as { [SLOT]?: Entries };
let own: Entries | undefined;

export function offerEntries(entries: Entries): void {
  own = entries;
  slots[SLOT] ??= entries;
}

/**
 * At the end of an entry point: what it exports is that of the first copy.
 *
 * @param module by a call, or Node.js would not find the names that an ES module imports from here
 */
export function giveWay(entry: Entry, module: { exports: unknown }): void {
  const first = slots[SLOT];
  if (first === undefined) return;
  if (first === own) first.exported[entry] = module.exports;
  else module.exports = first.exported[entry] ?? first[entry]();
}
