/** The arguments of `lua/push.lua` for entries: unique keys, keys of debounced jobs, ready entries, then delayed ones. */
import type { Seconds } from '../../base/clock';
import { idOfTied, mostOf, type UniqueTie } from '../../payload/ties';
import type { Entry } from '../contract';
import { whenOf } from './lane';

/** The position of an entry: its list, and its index there. */
export interface Place {
  readonly list: number;
  readonly at: number;
}

export interface Entries {
  readonly count: number;
  readonly args: readonly (string | number)[];
  /** Some entries may be left out, or replace other jobs. */
  readonly mayRefuse: boolean;
  /** Where the entry with this number (from 1) in the script's answer stands. Only for entries that the script may name. */
  readonly placeOf: (number: number) => Place;
}

/** See `lua/parts/unique.lua`. */
type KeyArguments = readonly [key: string, tie: string];

interface KeyedEntry {
  readonly places: readonly Place[];
  /** Its number in `places`, from 1. */
  readonly number: number;
  readonly args: KeyArguments;
}

export function entriesOf(lists: readonly (readonly Entry[])[]): Entries {
  const ready: string[] = [];
  const delayed: (string | number)[] = [];
  // A place costs an object per entry. The script names ready entries only if some entry has a key.
  const anyKeyed = lists.some((entries) => entries.some(isKeyed));
  const [readyPlaces, delayedPlaces]: [Place[], Place[]] = [[], []];
  const unique: KeyedEntry[] = [];
  const debounced: KeyedEntry[] = [];
  let mayRefuse = anyKeyed;
  for (const [list, entries] of lists.entries()) {
    for (const [at, entry] of entries.entries()) {
      const { payload, delay = 0, dueAt, distinct = false } = entry;
      const isReadyNow = isReady(entry);
      if (isReadyNow) ready.push(payload);
      else delayed.push(distinct && !isKeyed(entry) ? 'unique' : 'any', whenOf(delay, dueAt), payload);
      if (isReadyNow && !anyKeyed) continue;
      const places = isReadyNow ? readyPlaces : delayedPlaces;
      const number = places.push({ list, at });
      const args = keyOf(entry);
      if (args !== undefined) (entry.ties?.unique === undefined ? debounced : unique).push({ places, number, args });
      mayRefuse ||= distinct;
    }
  }
  const numberOf = ({ places, number }: KeyedEntry): number =>
    places === readyPlaces ? number : ready.length + number;
  const keys: (string | number)[] = debounced.flatMap((entry) => [numberOf(entry), ...entry.args]);
  if (unique.length > 0) {
    const [uniqueKeys, ties] = [unique.map(({ args: [key] }) => key), unique.map(({ args: [, tie] }) => tie)];
    keys.unshift(unique.map(numberOf).join(' '), ...uniqueKeys, ...ties);
  }
  return {
    count: ready.length + delayedPlaces.length,
    args: [ready.length, unique.length, debounced.length, ...keys, ...ready, ...delayed],
    mayRefuse,
    placeOf: (number) => (number > ready.length ? delayedPlaces[number - ready.length - 1]! : readyPlaces[number - 1]!),
  };
}

/** Ready entries come before the delayed ones. */
export function isReady({ delay = 0, dueAt }: Entry): boolean {
  return delay <= 0 && dueAt === undefined;
}

function isKeyed({ ties }: Entry): boolean {
  return ties?.unique !== undefined || ties?.debounce !== undefined;
}

function keyOf({ payload, ties: { unique, debounce } = {} }: Entry): KeyArguments | undefined {
  const id = unique === undefined && debounce === undefined ? undefined : idOfTied(payload);
  if (id === undefined) return undefined;
  return unique === undefined ? argumentsOf(debounce!.key, debounce!.longest, id) : tieOf(unique, id);
}

export function tieOf({ key, for: longest }: UniqueTie, id: string): KeyArguments {
  return argumentsOf(key, longest, id);
}

function argumentsOf(key: string, longest: Seconds | undefined, id: string): KeyArguments {
  return [key, `${longest === undefined ? 0 : mostOf(longest)} ${id}`];
}
