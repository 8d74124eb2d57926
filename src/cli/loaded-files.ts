/** Tells whether a file of the project has changed since this process loaded it: then the process runs old code. */
import { statSync } from 'node:fs';
import { sep } from 'node:path';
import type { Milliseconds } from '../base/clock';

const PACKAGES = `${sep}node_modules${sep}`;

export class LoadedFiles {
  readonly #stamps: ReadonlyMap<string, Milliseconds | undefined>;
  readonly #changedEarly: boolean;

  /** Looks at the files that are loaded so far. */
  constructor(now: Milliseconds) {
    const files = Object.keys(require.cache).filter((file) => !file.includes(PACKAGES));
    this.#stamps = new Map(files.map((file) => [file, stampOf(file)]));
    // A file may have changed between loading and this look. Then it changed after the process started.
    const startedAt = now - process.uptime() * 1000;
    this.#changedEarly = [...this.#stamps.values()].some(
      (stamp) => stamp !== undefined && stamp > startedAt && stamp <= now,
    );
  }

  get haveChanged(): boolean {
    return this.#changedEarly || [...this.#stamps].some(([file, stamp]) => stampOf(file) !== stamp);
  }
}

function stampOf(file: string): Milliseconds | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}
