/** Goes through all that has failed until now, in pages, while others may retry, forget, and fail jobs beside it. */
import type { Connection } from '../../connections/contract';
import type { FailedEntry, FailedStore } from '../../connections/failed-store';

/** A failed store with the connection it belongs to. */
export interface OpenStore {
  readonly connection: Connection;
  readonly store: FailedStore;
}

export interface Sweep {
  /** Only of this queue. */
  readonly queue?: string | undefined;
  readonly fits: (entry: FailedEntry) => boolean;
  /** So many of the newest that fit stay. Default 0. */
  readonly keep?: number | undefined;
  readonly takeOut: (entry: FailedEntry) => Promise<TakeOut>;
}

/** `done`: by us; `gone`: somebody else was faster; `left`: it stays in the store. */
export type TakeOut = 'done' | 'gone' | 'left';

const PAGE = 100;

export async function sweep({ store }: OpenStore, sweep: Sweep): Promise<void> {
  const [newest] = await store.list({ limit: 1 });
  // What others take out of the list moves the rest past our place in it, so one pass may miss some.
  for (let goesOn = newest !== undefined; goesOn;) goesOn = await passTakesOut(store, newest!.failedAt, sweep);
}

async function passTakesOut(store: FailedStore, until: number, sweep: Sweep): Promise<boolean> {
  const { queue, fits, keep = 0, takeOut } = sweep;
  let offset = 0;
  let kept = 0;
  let any = false;
  let last = new Set<string>();
  for (;;) {
    const page = await store.list({ queue, limit: PAGE, offset });
    if (page.length === 0) return any;
    for (const entry of page) {
      // A worker that fails again what is sent back to it must not keep this going for ever.
      const isOurs = entry.failedAt <= until && !last.has(nameOf(entry)) && fits(entry);
      const result = isOurs && kept >= keep ? await takeOut(entry) : 'left';
      if (result === 'left') offset += 1;
      if (result === 'done') any = true;
      if (isOurs && kept < keep) kept += 1;
    }
    last = new Set(page.map(nameOf));
  }
}

/** Of an entry in its store. */
export const nameOf = ({ queue, id }: FailedEntry): string => JSON.stringify([queue, id]);
