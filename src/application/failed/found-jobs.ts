/** Failed jobs of several stores, each once: two connections may lead to one store, and both then show what it keeps. */
import type { FailedEntry } from '../../connections/failed-store';
import type { OpenStore } from './sweep';

/** An entry, and who keeps it. */
export interface FoundJob {
  readonly open: OpenStore;
  readonly entry: FailedEntry;
}

export class FoundJobs {
  /** By what is the same of two that are the same. */
  readonly #found = new Map<string, FoundJob[]>();

  add(job: FoundJob): void {
    const { queue, id, failedAt } = job.entry;
    const key = JSON.stringify([queue, id, failedAt]);
    const alike = this.#found.get(key) ?? [];
    if (!alike.some((other) => isSame(other, job))) this.#found.set(key, [...alike, job]);
  }

  get all(): readonly FoundJob[] {
    return [...this.#found.values()].flat();
  }
}

// Some stores keep the name of the connection that a job came from; of the others, the address tells whether they are one.
function isSame(a: FoundJob, b: FoundJob): boolean {
  const isOneStore = a.entry.connection === b.entry.connection || addressOf(a) === addressOf(b);
  return isOneStore && a.entry.payload.equals(b.entry.payload);
}

function addressOf({ open: { connection } }: FoundJob): string {
  // A store that lives in this very thread is its connection's own, and has no address of its own.
  return connection.threadAccess === null ? connection.name : `${connection.driver} ${connection.address}`;
}
