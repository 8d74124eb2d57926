/** Waits for work in a file by looking at its tables, so that no wake-up can come too early and be missed. */
import { systemClock, type Clock, type Milliseconds, type Seconds, type Timer } from '../../../base/clock';
import type { Wake } from '../../kit/connection';
import type { Waiters } from '../waiters';
import type { SqlValue } from '../statement';
import { statSync, watch, type FSWatcher } from 'node:fs';

interface Waking {
  readonly clock: Clock;
  /** Its canonical path. */
  readonly file: string;
  /** Seconds until one of the queues has a job; 0: now. Infinity also if the file cannot be read at the moment. */
  readonly nextIn: (queues: readonly string[]) => Seconds;
  /** Changes when another connection has written. */
  readonly version: () => SqlValue | undefined;
}

export function sqliteWaking({ clock, file, nextIn, version }: Waking): Waiters {
  const watch = watchOf(file);
  const listen = (queues: readonly string[], wake: Wake): (() => void) => {
    let seen: SqlValue | undefined;
    let timer: Timer | undefined;
    const look = (): void => {
      timer?.cancel();
      seen = version();
      const left: Milliseconds = nextIn(queues) * 1000;
      if (left <= 0) wake();
      else if (left !== Infinity) timer = clock.after(left, look);
    };
    const watcher = {
      wroteTo: (queue: string): void => {
        if (queues.includes(queue)) look();
      },
      look: (): void => {
        if (version() !== seen) look();
      },
    };
    watch.add(watcher);
    look();
    return () => {
      timer?.cancel();
      watch.remove(watcher);
    };
  };
  return {
    listening: ({ queues }) => ({ keepAlive: false, listen: (wake) => listen([...new Set(queues)], wake) }),
    wrote: (queue) => watch.wroteTo(queue),
  };
}

const LOOK_EVERY: Milliseconds = 1000;
/**
 * The log changes before the commit is visible: after its data come a flush to disk and a mark in shared memory, which is
 * not reported. So we look again at intervals that double, from the first to the last.
 */
const FIRST_PAUSE: Milliseconds = 1;
const LAST_PAUSE: Milliseconds = 64;

export interface Watcher {
  /** This process wrote to `queue`. */
  wroteTo(queue: string): void;
  /** Somebody may have written. */
  look(): void;
}

const watches = new Map<string, FileWatch>();

/** @param file its canonical path */
export function watchOf(file: string): FileWatch {
  const known = watches.get(file) ?? new FileWatch(file);
  watches.set(file, known);
  return known;
}

/**
 * Tells this process when a file was written to: at once if this process wrote, when the write-ahead log changes if others
 * did, and once a second as a fallback for file systems that report nothing.
 *
 * There is one watch for each file, shared by all connections of the process. It only watches while somebody waits, and does
 * not keep the process alive.
 */
export class FileWatch {
  readonly #file: string;
  readonly #watchers = new Set<Watcher>();
  #handle: FSWatcher | undefined;
  /** The inode of the log that the handle watches. */
  #inode: number | undefined;
  #net: Timer | undefined;
  #next: Timer | undefined;
  /** The pause before `#next`. */
  #pause: Milliseconds = FIRST_PAUSE;

  constructor(file: string) {
    this.#file = file;
  }

  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
    this.#net ??= systemClock.after(LOOK_EVERY, () => this.#castNet());
    this.#follow();
  }

  remove(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size === 0) this.#stop();
  }

  wroteTo(queue: string): void {
    for (const watcher of this.#watchers) watcher.wroteTo(queue);
  }

  #castNet(): void {
    this.#net = systemClock.after(LOOK_EVERY, () => this.#castNet());
    this.#follow();
    this.#look();
  }

  /** Watches the current log: it may have been removed or recreated together with the file. */
  #follow(): void {
    const log = `${this.#file}-wal`;
    const inode = statSync(log, { throwIfNoEntry: false })?.ino;
    if (inode === this.#inode) return;
    this.#handle?.close();
    this.#handle = undefined;
    this.#inode = inode;
    if (inode === undefined) return;
    try {
      this.#handle = watch(log, { persistent: false }, () => this.#changed());
      // The fallback goes on without it.
      this.#handle.on('error', () => this.#handle?.close());
    } catch {
      // The system has no watches left: the fallback stays.
      this.#handle = undefined;
    }
  }

  #changed(): void {
    if (this.#next === undefined) this.#look();
    else if (this.#pause === FIRST_PAUSE) return;
    this.#lookIn(FIRST_PAUSE);
  }

  #lookIn(pause: Milliseconds): void {
    this.#next?.cancel();
    if (this.#watchers.size === 0) return;
    this.#pause = pause;
    this.#next = systemClock.after(pause, () => {
      this.#next = undefined;
      this.#look();
      if (pause < LAST_PAUSE) this.#lookIn(pause * 2);
    });
  }

  #look(): void {
    for (const watcher of this.#watchers) watcher.look();
  }

  #stop(): void {
    this.#handle?.close();
    this.#handle = undefined;
    this.#inode = undefined;
    this.#net?.cancel();
    this.#net = undefined;
    this.#next?.cancel();
    this.#next = undefined;
  }
}
