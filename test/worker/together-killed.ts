/** Jobs that are handled together, for two processes. */
import { Job } from '../../src/index';

/** What the class does with its jobs; each process has its own. */
export const handling: { all: (jobs: readonly Gathered[]) => unknown } = { all: () => undefined };

@Job({ tries: 1, timeout: '5m', together: { most: 3, wait: '60s' } })
export class Gathered extends Job {
  constructor(readonly place: number) {
    super();
  }

  static async handleAll(jobs: readonly Gathered[]): Promise<void> {
    await handling.all(jobs);
  }
}
