/** What must and must not compile where jobs are handled together. Checked by the compiler; never run. */
import { Inject } from '../../src/container/parameters';
import { Job } from '../../src/job/job';

class Search {
  find(): void {}
}

@Job({ together: { most: 100, wait: '1s' } })
export class Right extends Job {
  constructor(readonly n: number) {
    super();
  }
  static async handleAll(jobs: readonly Right[], @Inject(Search) search: Search): Promise<void> {
    search.find();
    for (const job of jobs) if (job.n > 1) job.fail();
  }
}

class Other {
  readonly other = 1;
}

// @ts-expect-error it has no handleAll()
@Job({ together: { most: 100, wait: '1s' } })
export class Without extends Job {}

// @ts-expect-error its jobs are others
@Job({ together: { most: 100, wait: '1s' } })
export class Wrong extends Job {
  static handleAll(jobs: readonly Other[]): void {
    jobs.at(0);
  }
}

// @ts-expect-error both are needed
@Job({ together: { most: 100 } })
export class Half extends Job {
  static handleAll(): void {}
}
