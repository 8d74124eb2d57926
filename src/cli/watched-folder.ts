/** The source files below a folder: tells when they change, for `work --watch`. */
import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Milliseconds, Timer } from '../base/clock';

/** Editors and compilers write in several steps. */
const QUIET: Milliseconds = 200;

/** Jobs may write any other file. */
const SOURCE = /\.[cm]?[jt]sx?$|^\.env/;

export class WatchedFolder {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #clock: Clock;
  readonly #changed: (file: string) => void;
  #timer: Timer | undefined;

  /**
   * Watches each folder by itself, because Node.js can leave out none below a recursive one, and `node_modules` has thousands.
   *
   * @throws what the system throws, such as ENOSPC, if it watches too many folders already
   */
  constructor(folder: string, clock: Clock, changed: (file: string) => void) {
    this.#clock = clock;
    this.#changed = changed;
    this.#add(folder);
  }

  close(): void {
    this.#timer?.cancel();
    for (const watcher of this.#watchers.values()) watcher.close();
  }

  #add(folder: string): void {
    if (this.#watchers.has(folder)) return;
    const watcher = watch(folder, (_event, name) => {
      if (name !== null) this.#heard(join(folder, name), name);
    });
    this.#watchers.set(folder, watcher);
    // The folder is gone.
    watcher.on('error', () => this.#remove(folder));
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory() && isWatched(entry.name)) this.#add(join(folder, entry.name));
  }

  #remove(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  #heard(path: string, name: string): void {
    if (SOURCE.test(name)) {
      this.#timer?.cancel();
      this.#timer = this.#clock.after(QUIET, () => this.#changed(path));
    } else if (isWatched(name)) {
      try {
        if (statSync(path).isDirectory()) this.#add(path);
      } catch {
        // It is gone, perhaps since a moment ago; thrown here, this would end the worker.
        this.#remove(path);
      }
    }
  }
}

function isWatched(folder: string): boolean {
  return folder !== 'node_modules' && !folder.startsWith('.');
}
