/**
 * Several copies of one version of the package in a process, such as that of a bundle and that of the command: the first
 * stands in for all. Each would know its own jobs, runs, choices and injections alone, and have a `Queue` of its own.
 */
import { VERSION } from './version';

const SLOT = Symbol.for(`onqueue@${VERSION}`);

/** What a copy exports; loaded when it is asked for. */
interface Entries {
  index(): object;
  testing(): object;
  /** What was loaded of it. A test runner that resets its modules would load it anew, beside the rest. */
  readonly exported: { [entry in 'index' | 'testing']?: unknown };
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
export function giveWay(entry: 'index' | 'testing', module: { exports: unknown }): void {
  const first = slots[SLOT];
  if (first === undefined) return;
  if (first === own) first.exported[entry] = module.exports;
  else module.exports = first.exported[entry] ?? first[entry]();
}
