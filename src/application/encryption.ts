/** Which keys the jobs of a program's stores still need: before one is removed, nothing may wait or have failed under it. */
import type { Connection, WaitingState } from '../connections/contract';
import { keysNamedIn } from '../payload/vault';
import type { QueueManager } from './queue-manager';

export interface KeyUse {
  readonly key: string;
  /** Whether the configuration has it. */
  readonly isConfigured: boolean;
  /** Whether it seals what is dispatched from now on. */
  readonly seals: boolean;
  /** How many of the looked-through jobs need it: those that wait or run, and those that have failed. */
  readonly waiting: number;
  readonly failed: number;
}

export interface KeyReport {
  readonly keys: readonly KeyUse[];
  /** Not all jobs were looked through: there may be others that need a key. */
  readonly isPart: boolean;
}

const PAGE = 100;
const STATES: readonly WaitingState[] = ['ready', 'delayed', 'reserved'];

/** Looks through the first `most` jobs of each queue and state, and the newest failed jobs of each store. @throws what a store throws */
export async function keysInUse(manager: QueueManager, most: number): Promise<KeyReport> {
  const counts = new Map(manager.vault.keys.map((key) => [key, { waiting: 0, failed: 0 }]));
  let isPart = false;
  const count = (payload: Buffer, place: 'waiting' | 'failed'): void => {
    for (const key of keysNamedIn(payload.toString('latin1'))) {
      const known = counts.get(key) ?? { waiting: 0, failed: 0 };
      known[place] += 1;
      counts.set(key, known);
    }
  };
  for (const name of manager.connectionNames()) {
    const connection = manager.driver(name);
    // Its members are looked through themselves.
    if (connection.failover !== undefined) continue;
    for await (const payload of waitingIn(connection, most, () => (isPart = true))) count(payload, 'waiting');
    const entries = (await connection.failed?.list({ limit: most })) ?? [];
    if (entries.length === most) isPart = true;
    for (const { payload } of entries) count(payload, 'failed');
  }
  const { use } = manager.vault;
  const keys = Array.from(counts, ([key, used]): KeyUse => {
    return { key, isConfigured: manager.vault.keys.includes(key), seals: key === use, ...used };
  });
  return { keys, isPart };
}

async function* waitingIn({ queues }: Connection, most: number, toldPart: () => void): AsyncIterable<Buffer> {
  // A store that cannot list its jobs may have any.
  if (queues.peek === undefined) return;
  for (const queue of await queues.names()) {
    for (const state of STATES) {
      let seen = 0;
      for (let place: string | undefined; ;) {
        const page = await queues.peek(queue, state, PAGE, place);
        for (const { payload } of page) yield payload;
        seen += page.length;
        place = page.at(-1)?.place;
        if (place === undefined) break;
        if (seen >= most) {
          toldPart();
          break;
        }
      }
    }
  }
}
