/** Entries as `lua/push.lua` takes them: unique keys, then what is ready at once, then what is delayed. */
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
  /** Some may stay out. */
  readonly mayRefuse: boolean;
  /** What the script calls the entry of that number, from 1. Only of those that may stay out. */
  readonly placeOf: (number: number) => Place;
}

/** See `lua/parts/unique.lua`. */
type UniqueArguments = readonly [key: string, tie: string];

interface UniqueEntry {
  readonly places: readonly Place[];
  /** From 1, in `places`. */
  readonly number: number;
  readonly args: UniqueArguments;
}

export function entriesOf(lists: readonly (readonly Entry[])[]): Entries {
  const ready: string[] = [];
  const delayed: (string | number)[] = [];
  // A place is an object more for each entry: those that are ready stay out only for a key.
  const anyUnique = lists.some((entries) => entries.some(isUnique));
  const [readyPlaces, delayedPlaces]: [Place[], Place[]] = [[], []];
  const unique: UniqueEntry[] = [];
  let mayRefuse = anyUnique;
  for (const [list, entries] of lists.entries()) {
    for (const [at, entry] of entries.entries()) {
      const { payload, delay = 0, dueAt, distinct = false } = entry;
      const isReady = delay <= 0 && dueAt === undefined;
      if (isReady) ready.push(payload);
      else delayed.push(distinct && !isUnique(entry) ? 'unique' : 'any', whenOf(delay, dueAt), payload);
      if (isReady && !anyUnique) continue;
      const places = isReady ? readyPlaces : delayedPlaces;
      const number = places.push({ list, at });
      const args = keyOf(entry);
      if (args !== undefined) unique.push({ places, number, args });
      mayRefuse ||= distinct;
    }
  }
  const keys = unique.flatMap(({ places, number, args }) => [
    places === readyPlaces ? number : ready.length + number,
    ...args,
  ]);
  return {
    count: ready.length + delayedPlaces.length,
    args: [ready.length, unique.length, ...keys, ...ready, ...delayed],
    mayRefuse,
    placeOf: (number) => (number > ready.length ? delayedPlaces[number - ready.length - 1]! : readyPlaces[number - 1]!),
  };
}

function isUnique({ ties }: Entry): boolean {
  return ties?.unique !== undefined;
}

function keyOf({ payload, ties }: Entry): UniqueArguments | undefined {
  const id = ties?.unique && idOfTied(payload);
  if (id === undefined) return undefined;
  return tieOf(ties!.unique!, id);
}

export function tieOf({ key, for: most }: UniqueTie, id: string): UniqueArguments {
  return [key, `${most === undefined ? 0 : mostOf(most)} ${id}`];
}
