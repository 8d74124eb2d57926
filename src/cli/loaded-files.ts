/** Tells whether a file of the project has changed since this process loaded it: it would run the code of before. */
import { statSync } from 'node:fs';
import { sep } from 'node:path';
import type { Milliseconds } from '../base/clock';

const PACKAGES = `${sep}node_modules${sep}`;

export class LoadedFiles {
  readonly #stamps: ReadonlyMap<string, Milliseconds | undefined>;
  readonly #changedEarly: boolean;

  /** Looks at the files that are loaded by now. */
  constructor(now: Milliseconds) {
    const files = Object.keys(require.cache).filter((file) => !file.includes(PACKAGES));
    this.#stamps = new Map(files.map((file) => [file, stampOf(file)]));
    // Between being loaded and being looked at here, a file may change as well; its stamp lies in the process's life then.
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
