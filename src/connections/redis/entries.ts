/** Entries as `lua/push.lua` takes them: unique keys, those of debounced jobs, then what is ready at once, then what is delayed. */
import type { Seconds } from '../../base/clock';
import { idOfTied, mostOf, type UniqueTie } from '../../payload/ties';
import type { Entry } from '../contract';
import { whenOf } from './lane';

/** Where an entry stands: in which of the lists, and where in that. */
export interface Place {
  readonly list: number;
  readonly at: number;
}

export interface Entries {
  readonly count: number;
  readonly args: readonly (string | number)[];
  /** Some may stay out, or take the places of others. */
  readonly mayRefuse: boolean;
  /** What the script calls the entry of that number, from 1. Only of those of which it may. */
  readonly placeOf: (number: number) => Place;
}

/** See `lua/parts/unique.lua`. */
type KeyArguments = readonly [key: string, tie: string];

interface KeyedEntry {
  readonly places: readonly Place[];
  /** From 1, in `places`. */
  readonly number: number;
  readonly args: KeyArguments;
}

export function entriesOf(lists: readonly (readonly Entry[])[]): Entries {
  const ready: string[] = [];
  const delayed: (string | number)[] = [];
  // A place is an object more for each entry: of those that are ready something is told only for a key.
  const anyKeyed = lists.some((entries) => entries.some(isKeyed));
  const [readyPlaces, delayedPlaces]: [Place[], Place[]] = [[], []];
  const unique: KeyedEntry[] = [];
  const debounced: KeyedEntry[] = [];
  let mayRefuse = anyKeyed;
  for (const [list, entries] of lists.entries()) {
    for (const [at, entry] of entries.entries()) {
      const { payload, delay = 0, dueAt, distinct = false } = entry;
      const isNow = isReady(entry);
      if (isNow) ready.push(payload);
      else delayed.push(distinct && !isKeyed(entry) ? 'unique' : 'any', whenOf(delay, dueAt), payload);
      if (isNow && !anyKeyed) continue;
      const places = isNow ? readyPlaces : delayedPlaces;
      const number = places.push({ list, at });
      const args = keyOf(entry);
      if (args !== undefined) (entry.ties?.unique === undefined ? debounced : unique).push({ places, number, args });
      mayRefuse ||= distinct;
    }
  }
  const keys = [...unique, ...debounced].flatMap(({ places, number, args }) => [
    places === readyPlaces ? number : ready.length + number,
    ...args,
  ]);
  return {
    count: ready.length + delayedPlaces.length,
    args: [ready.length, unique.length, debounced.length, ...keys, ...ready, ...delayed],
    mayRefuse,
    placeOf: (number) => (number > ready.length ? delayedPlaces[number - ready.length - 1]! : readyPlaces[number - 1]!),
  };
}

/** It goes in before those that are not. */
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

export function tieOf({ key, for: most }: UniqueTie, id: string): KeyArguments {
  return argumentsOf(key, most, id);
}

function argumentsOf(key: string, most: Seconds | undefined, id: string): KeyArguments {
  return [key, `${most === undefined ? 0 : mostOf(most)} ${id}`];
}
