/** The source files below a folder: tells when they change, for `work --watch`. */
import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Milliseconds, Timer } from '../base/clock';

/** Editors and compilers write in several steps. */
const QUIET: Milliseconds = 200;

/** Jobs may write any other file. */
const SOURCE = /\.[cm]?[jt]sx?$|^\.env/;

/**
 * Watches each folder by itself, because Node.js can leave out none below a recursive one, and `node_modules` has thousands.
 *
 * Returns the function that ends this. @throws what the system throws, such as ENOSPC, if it watches too many folders already
 */
export function watchFolder(root: string, clock: Clock, changed: (file: string) => void): () => void {
  const watchers = new Map<string, FSWatcher>();
  let timer: Timer | undefined;
  const remove = (folder: string): void => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  const heard = (path: string, name: string): void => {
    if (SOURCE.test(name)) {
      timer?.cancel();
      timer = clock.after(QUIET, () => changed(path));
    } else if (isWatched(name)) {
      try {
        if (statSync(path).isDirectory()) add(path);
      } catch {
        // It is gone, perhaps since a moment ago; thrown here, this would end the worker.
        remove(path);
      }
    }
  };
  const add = (folder: string): void => {
    if (watchers.has(folder)) return;
    const watcher = watch(folder, (_event, name) => {
      if (name !== null) heard(join(folder, name), name);
    });
    watchers.set(folder, watcher);
    // The folder is gone.
    watcher.on('error', () => remove(folder));
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory() && isWatched(entry.name)) add(join(folder, entry.name));
  };
  add(root);
  return () => {
    timer?.cancel();
    for (const watcher of watchers.values()) watcher.close();
  };
}

function isWatched(folder: string): boolean {
  return folder !== 'node_modules' && !folder.startsWith('.');
}
