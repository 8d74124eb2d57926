/**
 * Tells this process when a file was written to: by itself at once, by others as the write-ahead log changes, and once a
 * second as the net for file systems that report nothing.
 *
 * One for each file, shared by all connections of the process; it watches only while somebody waits, and keeps no process
 * alive.
 */
import { statSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { systemClock } from '../../../base/clock';
import type { Milliseconds, Timer } from '../../../base/clock';

const LOOK_EVERY: Milliseconds = 1000;
/**
 * The log changes before the commit can be seen: after its data come a flush to disk and a mark in shared memory, which
 * is not reported. So it is looked again after pauses that double, from the first to the last.
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

/** `file`: its canonical path. */
export function watchOf(file: string): FileWatch {
  const known = watches.get(file) ?? new FileWatch(file);
  watches.set(file, known);
  return known;
}

export class FileWatch {
  readonly #file: string;
  readonly #watchers = new Set<Watcher>();
  #handle: FSWatcher | undefined;
  /** Of the log that the handle is on. */
  #inode: number | undefined;
  #net: Timer | undefined;
  #next: Timer | undefined;
  /** After which `#next` comes. */
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

  /** Watches the log that is there now: with the file it may have been removed, or made anew. */
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
      // The net goes on without it.
      this.#handle.on('error', () => this.#handle?.close());
    } catch {
      // No watch is left in this system: the net stays.
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
