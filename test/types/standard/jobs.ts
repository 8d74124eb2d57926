/** The same API with standard decorators, which do not exist for parameters. Checked by the compiler; never run. */
import { inject } from '../../../src/container/scope';
import type { PendingDispatch } from '../../../src/job/pending';
import { Handles } from '../../../src/job/declare';
import { Job } from '../../../src/job/job';
import { JobContext } from '../../../src/job/job-context';

class Mailer {
  async send(_to: string): Promise<void> {}
}

@Job({ queue: 'mail', tries: 5, backoff: ['10s', '1m'], timeout: '30s' })
export class SendWelcome extends Job {
  constructor(readonly email: string) {
    super();
  }
  async handle(): Promise<number> {
    await this.make(Mailer).send(this.email);
    return this.attempts;
  }
}

export const pending: PendingDispatch = SendWelcome.dispatch('ada@example.org').onQueue('urgent');
export const value: Promise<number> = SendWelcome.dispatchSync('ada@example.org');
// @ts-expect-error -- an argument is missing
void SendWelcome.dispatch();

@Job()
export class FieldId extends Job {
  id = 5;
}

@Job()
export class ParameterId extends Job {
  constructor(readonly id: string) {
    super();
  }
}

@Job()
export class PrivateConstructor extends Job {
  private constructor() {
    super();
  }
  static make(): PrivateConstructor {
    return new PrivateConstructor();
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
  abstract handle(): void;
}

export const Expression = Job()(class Expression extends Job {});
void Expression.dispatch();

@Job()
export class Order {
  constructor(readonly number: number) {}
}

@Handles(Order)
export class OrderHandler {
  readonly context = inject(JobContext);
  readonly mailer = inject(Mailer);
  handle(job: Order): number {
    return job.number;
  }
}

// @ts-expect-error -- an unknown option
@Job({ attempts: 3 })
export class UnknownOption extends Job {}

// @ts-expect-error -- a class that handles nothing
@Handles(Order)
export class NoHandle {}

// @ts-expect-error -- handles another job than the decorator says
@Handles(Order)
export class WrongJob {
  handle(_job: SendWelcome): void {}
}
