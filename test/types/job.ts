/** What must and must not compile where a job is declared. Checked by the compiler; never run. */
import type { JobContext } from '../../src/job/job-context';
import { Queue } from '../../src/application/queue';
import type { Duration } from '../../src/job/duration';
import { Job } from '../../src/job/job';
import type { JobOptions } from '../../src/job/options';

// --- Options ---

@Job()
export class NoOptions extends Job {}

@Job({
  name: 'billing.invoice',
  aliases: ['invoice'],
  version: 2,
  upgrade: (data, from) => ({ ...data, from }),
  connection: 'redis',
  queue: 'mail',
  delay: new Date(),
  tries: 5,
  backoff: ['10s', 60],
  timeout: '2m',
  failOnTimeout: true,
  maxCrashes: 3,
  maxExceptions: 2,
  retryUntil: '1d',
})
export class AllOptions extends Job {}

@Job({ backoff: { delays: '10s', jitter: 0.2 } })
export class Jitter extends Job {}

// An option from a condition is often undefined, even under exactOptionalPropertyTypes.
declare const maybe: number | undefined;
export const conditional: JobOptions = { tries: maybe, timeout: maybe, queue: undefined };

// @ts-expect-error -- an unknown option
@Job({ attempts: 3 })
export class UnknownOption extends Job {}

// @ts-expect-error -- a string instead of a number
@Job({ tries: '3' })
export class TextTries extends Job {}

// @ts-expect-error -- a duration without a unit
@Job({ timeout: '90' })
export class NoUnit extends Job {}

// @ts-expect-error -- a date is not a timeout
@Job({ timeout: new Date() })
export class MomentTimeout extends Job {}

// @ts-expect-error -- the brackets are missing
@Job
export class NoBrackets extends Job {}

// --- Fields ---

// @ts-expect-error -- a field that hides the option `queue`
@Job()
export class QueueField extends Job {
  constructor(readonly queue: string) {
    super();
  }
}

// @ts-expect-error -- a field that hides the option `tries`
@Job({ queue: 'mail' })
export class TriesField {
  tries?: number;
}

// @ts-expect-error -- a field that hides the option `delay`
@Job()
// @ts-expect-error -- and hides delay()
export class DelayField extends Job {
  // @ts-expect-error -- without `override`, too
  constructor(readonly delay: number) {
    super();
  }
}

// @ts-expect-error -- a field that hides the option `timeout`, in jobs that are handled together
@Job({ together: { most: 10, wait: '1s' } })
export class TimeoutField {
  readonly timeout = 5;
  static handleAll(_jobs: readonly TimeoutField[]): void {}
}

@Job()
export class OptionMethods extends Job {
  readonly version = 2;
  tries(): number {
    return 3;
  }
  backoff(error: Error): Duration {
    return error.name === 'Busy' ? '10s' : 0;
  }
}

// --- Classes ---

@Job()
export class Plain {
  constructor(readonly to: string) {}
}

@Job()
export class PrivateConstructor extends Job {
  private constructor(readonly to: string) {
    super();
  }
  static to(to: string): PrivateConstructor {
    return new PrivateConstructor(to);
  }
}

@Job()
export class ProtectedConstructor extends Job {
  protected constructor() {
    super();
  }
}

@Job()
export abstract class Base extends Job {
  abstract handle(): Promise<void>;
}

@Job()
export class Generic<T> extends Job {
  constructor(readonly data: T) {
    super();
  }
}

// The decorator returns the class.
export const Expression = Job()(
  class Expression extends Job {
    constructor(readonly to: string) {
      super();
    }
  },
);
export const to: string = new Expression('ada').to;

// A static make() in the class does not clash.
@Job()
export class Factory extends Job {
  static make(_to: string): Factory {
    return new Factory();
  }
}

// --- An id of its own is data of any type, without `override` ---

@Job()
export class NumberId extends Job {
  constructor(readonly id: number) {
    super();
  }
  double(): number {
    return this.id * 2;
  }
  wrong(): string {
    // @ts-expect-error -- the declared id has its declared type
    return this.id;
  }
}

@Job()
export class FieldId extends Job {
  id = 'abc';
}

@Job()
export class AccessorId extends Job {
  get id(): bigint {
    return 1n;
  }
}

// --- Inside a run ---

@Job()
export class Runs extends Job {
  async handle(): Promise<number> {
    const context: JobContext = this.job;
    const id: string = this.id;
    const jobId: string = this.job.id;
    const signal: AbortSignal = this.signal;
    this.release('30s');
    this.release(new Date());
    this.fail(new Error(id));
    this.fail('said so');
    this.delete();
    // @ts-expect-error -- the shorthand properties are read-only
    this.attempts = 3;
    // @ts-expect-error -- no such member
    void this.idx;
    // @ts-expect-error -- not a duration
    this.release('soon');
    return context.attempts + this.attempts + this.fence + jobId.length + Number(signal.aborted);
  }

  // Not declared by Job, so no `override` is needed.
  failed(_error: Error): void {}
  middleware(): [] {
    return [];
  }
  tries(): number {
    return 3;
  }
  backoff(_error: Error): number {
    return 5;
  }
}

export class OwnAttempts extends Job {
  // @ts-expect-error -- this would hide `attempts` of the running job
  attempts = 'many';
}

export class OwnSignal extends Job {
  // @ts-expect-error -- this would hide `signal` of the running job
  signal = 'green';
}

export class OwnDelay extends Job {
  // @ts-expect-error -- this looks like the option `delay`
  delay = 5;
}

// --- As in BullMQ ---

// @ts-expect-error -- there is no object for each queue
export const queue = new Queue('mail');

// @ts-expect-error -- jobs are classes
export const added = (): unknown => Queue.add('welcome', { to: 'ada@example.org' });
