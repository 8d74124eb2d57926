/** The lanes of one queue: how many of their jobs are in it, ready or reserved, and which wait until there is room. */
import { countersIn, fenceOf } from '../../payload/counters';
import { readTies, type LaneTie } from '../../payload/ties';
import type { LaneChange, LanePage, LaneState } from '../contract';
import { MOST_JOBS } from '../../base/collections';
import { bytesOf, TextList, type Text } from './texts';

interface Lane {
  readonly key: string;
  /** Of the last job that came. */
  tie: Pick<LaneTie, 'running' | 'ordered'>;
  inside: number;
  limit: number | undefined;
  paused: boolean;
  readonly held: TextList;
}

const UNKNOWN: Lane['tie'] = { running: 1, ordered: false };

export class MemoryLanes {
  readonly #lanes = new Map<string, Lane>();
  /** Some job of the queue has, or had, a lane. It may be delayed. */
  isUsed = false;

  /**
   * Moves jobs of lanes, and returns those that become ready, in order.
   *
   * @param left have left their lanes
   * @param arriving want to be ready; those without a lane are
   * @param wereDelayed some of them may have kept their places
   */
  move(left: readonly Text[], arriving: readonly Text[], wereDelayed = false): readonly Text[] {
    const moved = new Set<Lane>();
    for (const text of left) {
      const tie = tieOf(text);
      if (tie === undefined) continue;
      const lane = this.#lane(tie.key, tie);
      lane.inside = Math.max(lane.inside - 1, 0);
      moved.add(lane);
    }
    const lanes = arriving.map((text) => {
      const tie = wereDelayed && keepsPlace(text) ? undefined : tieOf(text);
      if (tie === undefined) return undefined;
      const lane = this.#lane(tie.key, tie);
      lane.tie = tie;
      moved.add(lane);
      return lane;
    });
    const ready = [...moved].flatMap((lane) => letIn(lane));
    for (const [at, text] of arriving.entries()) {
      const lane = lanes[at];
      if (lane === undefined || (lane.held.size === 0 && lane.inside < runningIn(lane))) {
        ready.push(text);
        if (lane !== undefined) lane.inside += 1;
      } else {
        lane.held.append(text);
      }
    }
    for (const lane of moved) this.#forgetEmpty(lane);
    return ready;
  }

  /** Returns those that become ready. */
  change(key: string, change: LaneChange): readonly Text[] {
    const lane = this.#lane(key, UNKNOWN);
    if ('limit' in change) lane.limit = change.limit;
    else lane.paused = change.paused;
    const ready = letIn(lane);
    this.#forgetEmpty(lane);
    return ready;
  }

  list(after = ''): LanePage {
    const keys = [...this.#lanes.keys()].filter((key) => key > after).toSorted();
    const page = keys.slice(0, MOST_JOBS);
    const lanes = page.map((key) => this.find(key)!);
    return { lanes, ...(keys.length > page.length && { next: page.at(-1)! }) };
  }

  find(key: string): LaneState | undefined {
    const lane = this.#lanes.get(key);
    if (lane === undefined) return undefined;
    const { inside, held, paused } = lane;
    return { lane: key, inside, held: held.size, running: runningIn({ ...lane, paused: false }), paused };
  }

  /** No lane has jobs, or was changed by hand. */
  get areEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  get heldCount(): number {
    let count = 0;
    for (const { held } of this.#lanes.values()) count += held.size;
    return count;
  }

  /** Lane by lane, sorted by their keys. */
  *held(): Iterable<Text> {
    if (!this.isUsed) return;
    for (const key of [...this.#lanes.keys()].toSorted()) yield* this.#lanes.get(key)!.held.firstOf(Infinity);
  }

  /** Removes and returns the first held text that matches. */
  remove(isMeant: (text: Text) => boolean): Text | undefined {
    for (const lane of this.#lanes.values()) {
      const removed = lane.held.remove(isMeant);
      if (removed === undefined) continue;
      this.#forgetEmpty(lane);
      return removed;
    }
    return undefined;
  }

  /** No job of the queue is left. What was set by hand stays. */
  clear(): void {
    for (const lane of this.#lanes.values()) {
      lane.held.clear();
      lane.inside = 0;
      this.#forgetEmpty(lane);
    }
  }

  #lane(key: string, tie: Lane['tie']): Lane {
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = { key, tie, inside: 0, limit: undefined, paused: false, held: new TextList() };
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  #forgetEmpty({ key, inside, limit, paused, held }: Lane): void {
    if (inside === 0 && held.size === 0 && limit === undefined && !paused) this.#lanes.delete(key);
  }
}

export function tieOf(text: Text): LaneTie | undefined {
  return readTies(bytesOf(text))?.lane;
}

/** Whether the job is in its lane although it is delayed: it was handed out before, and its lane is ordered. */
export function keepsPlace(text: Text): boolean {
  return tieOf(text)?.ordered === true && fenceOf(countersIn(bytesOf(text))!) > 0;
}

/** How many may be in. Order allows no more than one. */
function runningIn({ tie, limit = tie.running, paused }: Pick<Lane, 'tie' | 'limit' | 'paused'>): number {
  if (paused) return 0;
  return tie.ordered ? Math.min(limit, 1) : limit;
}

function letIn(lane: Lane): readonly Text[] {
  const came: Text[] = [];
  while (lane.held.size > 0 && lane.inside < runningIn(lane)) {
    came.push(lane.held.take()!);
    lane.inside += 1;
  }
  return came;
}
