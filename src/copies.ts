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
export function giveWay(entry: keyof Entries, module: { exports: unknown }): void {
  const first = slots[SLOT];
  if (first !== undefined && first !== own) module.exports = first[entry]();
}
