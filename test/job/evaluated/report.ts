import { Job, Middleware } from 'onqueue';

export const seen: unknown[] = [];

@Middleware({ name: 'evaluated.loud' })
export class Loud implements Middleware {
  handle(_job: unknown, next: () => Promise<unknown>) {
    seen.push('loud');
    return next();
  }
}

@Job({ name: 'evaluated.report' })
export class Report extends Job {
  constructor(readonly page: number) {
    super();
  }

  handle() {
    seen.push([this.page, this.attempts]);
  }
}
