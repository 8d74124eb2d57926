/** One lane of a queue, as `Queue.lane(queue, key)` names it, and the list of all. */
import type { Connection, LaneState, LaneStore } from '../connections/contract';
import { CapabilityError } from '../connections/errors';
import { laneKey } from '../payload/ties';
import { invalidLaneLimit } from './errors';
import { checkedLane } from './job-encoder';

/** What is set here is kept in the store until it is changed, and counts for all workers. */
export class QueueLane {
  readonly queue: string;
  /** As lists show it: a key that is long, or has other characters than `A-Z a-z 0-9 _ . : @ -`, becomes a hash. */
  readonly key: string;
  readonly #store: LaneStore;

  /** @throws E_INVALID_LANE_KEY, CapabilityError */
  constructor(connection: Connection, queue: string, key: string | number) {
    this.queue = queue;
    this.key = laneKey(checkedLane(key));
    this.#store = laneStore(connection);
  }

  /**
   * How many of its jobs may be ready or running at a time, whatever the jobs say; undefined: as many as they say. A lower limit stops
   * no job. An ordered lane lets in one in any case.
   *
   * @throws E_INVALID_LANE_LIMIT
   */
  async limit(running: number | undefined): Promise<void> {
    if (running !== undefined && (!Number.isSafeInteger(running) || running < 1)) throw invalidLaneLimit(running);
    await this.#store.change(this.queue, this.key, { limit: running });
  }

  /** Lets in no more jobs. Those that are in go on: as many as the lane lets in. */
  async pause(): Promise<void> {
    await this.#store.change(this.queue, this.key, { paused: true });
  }

  async resume(): Promise<void> {
    await this.#store.change(this.queue, this.key, { paused: false });
  }
}

export interface LaneListOptions {
  /** Continue after this place: the `next` of the previous page. */
  readonly after?: string | undefined;
}

export interface LaneList {
  /** About 100 at most, in no particular order: lanes with jobs, and those that were changed by hand. */
  readonly lanes: readonly LaneState[];
  /** Where the next page begins. Undefined if this was the last one. Lanes that come and go meanwhile may be missed or shown twice. */
  readonly next: string | undefined;
}

/** @throws CapabilityError */
export function laneStore({ lanes, name, driver }: Connection): LaneStore {
  if (lanes === undefined) throw new CapabilityError(name, driver, 'lanes');
  return lanes;
}
