/** What must and must not compile with the built-in middleware. Checked by the compiler; never run. */
import { failOn, Job, type JobContext, type Middleware, type SkipCondition, skipIf, skipUnless } from 'onqueue';

export class Refused extends Error {
  constructor(readonly card: number) {
    super();
  }
}
export abstract class Transient extends Error {}

@Job()
export class Charge extends Job {
  constructor(readonly amount: number) {
    super();
  }
  middleware(): Middleware[] {
    return [skipIf(this.amount === 0), skipUnless(isOpen), skipIf(({ attempts }) => attempts > 3), failOn(Refused)];
  }
}

@Job()
export class Mixed extends Job {
  middleware() {
    return [async (_job: JobContext, next: () => Promise<unknown>) => next(), failOn(Transient, TypeError)];
  }
}

export const condition: SkipCondition = async (job) => job.attempts > 1;
async function isOpen(): Promise<boolean> {
  return true;
}

// @ts-expect-error -- a promise instead of the function
skipIf(isOpen());

// @ts-expect-error -- not a boolean
skipUnless(() => 'yes');

// @ts-expect-error -- an error instead of its class
failOn(new Refused(1));

// @ts-expect-error -- a class that is not an error
failOn(Map);
