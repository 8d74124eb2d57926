/** What must and must not compile with the built-in middleware. Checked by the compiler; never run. */
import {
  deferOn,
  failOn,
  Job,
  type JobContext,
  type Middleware,
  type OverlapOptions,
  type Rates,
  rateLimited,
  type SkipCondition,
  skipIf,
  skipUnless,
  throttleExceptions,
  type ThrottleOptions,
  withoutOverlapping,
} from 'onqueue';

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

@Job()
export class Limited extends Job {
  constructor(readonly tenant: number) {
    super();
  }
  middleware(): Middleware[] {
    return [
      rateLimited(this.tenant, { allow: 30, every: '1m' }),
      rateLimited({ psp: rates, [`tenant ${this.tenant}`]: { allow: 5, every: 1 } }),
      withoutOverlapping(this.tenant),
      withoutOverlapping('card', { skip: true, shared: true }),
      withoutOverlapping('card', options),
      throttleExceptions(circuit),
      throttleExceptions({ ...circuit, only: [Refused, Transient, (error) => error.message === ''], key: this.tenant }),
      deferOn(Refused, ({ card }) => card),
      deferOn(Transient, () => undefined),
      deferOn(Refused, () => new Date()),
      failOn(Transient, (error) => error.message === 'gone'),
    ];
  }
}
const rates: Rates = [
  { allow: 30, every: '1m' },
  { allow: 5, every: '1s' },
];
const options: OverlapOptions = { wait: '5s' };
const circuit: ThrottleOptions = { after: 5, within: '1m', wait: '5m' };

// @ts-expect-error -- a number in place of the rate
rateLimited('psp', 30);
// @ts-expect-error -- no window
rateLimited('psp', { allow: 30 });
// @ts-expect-error -- a text without a unit
rateLimited('psp', { allow: 30, every: '60' });
// @ts-expect-error -- no rates
rateLimited('psp', []);
// @ts-expect-error -- no key
rateLimited(undefined, { allow: 30, every: '1m' });
// @ts-expect-error -- words of BullMQ
rateLimited({ psp: { max: 30, duration: 1000 } });
// @ts-expect-error -- it is skipped, or it waits
withoutOverlapping('card', { wait: '5s', skip: true });
// @ts-expect-error -- a time in place of the options
withoutOverlapping('card', '5s');
// @ts-expect-error -- no wait
throttleExceptions({ after: 5, within: '1m' });
// @ts-expect-error -- a class beside the list
throttleExceptions({ after: 5, within: '1m', wait: '5m', only: Refused });
// @ts-expect-error -- the error has no such property
deferOn(Refused, (error) => error.retryAfter);
// @ts-expect-error -- a time in place of the function
deferOn(Refused, '5s');
// @ts-expect-error -- a class that is not an error
deferOn(Map, () => 5);
// @ts-expect-error -- an answer that is not a boolean
failOn((error) => error.message);

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
