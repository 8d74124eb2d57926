/** The jobs that the tests of the test kit dispatch. */
import { Inject, Job, type JobContext } from 'onqueue';

export class Mailer {
  async send(to: string): Promise<string> {
    throw new Error(`No test may really send mail to ${to}.`);
  }
}

/** What the jobs have done, in order. */
export const seen: string[] = [];

@Job({ queue: 'mail', tries: 2, backoff: '10s', timeout: '30s' })
export class SendWelcome extends Job {
  constructor(
    readonly email: string,
    readonly since = new Date(0),
  ) {
    super();
  }

  async handle(@Inject(Mailer) mailer: Mailer): Promise<string> {
    seen.push(`welcome ${this.email}`);
    return mailer.send(this.email);
  }

  failed(error: Error): void {
    seen.push(`failed: ${error.message}`);
  }
}

@Job()
export class MakeReport extends Job {
  constructor(readonly name = 'sales') {
    super();
  }

  async handle(): Promise<void> {
    seen.push(`report ${this.name}`);
    await SendReport.dispatch(this.name);
  }
}

@Job({ queue: 'reports' })
export class SendReport extends Job {
  constructor(readonly name: string) {
    super();
  }

  handle(): void {
    seen.push(`sent ${this.name}`);
  }
}

@Job({ unique: { by: (job: MakeInvoice) => job.order } })
export class MakeInvoice extends Job {
  constructor(readonly order: number) {
    super();
  }

  handle(): void {
    seen.push(`invoice ${this.order}`);
  }
}

@Job({ debounce: { wait: '30s' } })
export class SyncNotes extends Job {
  constructor(readonly note: string) {
    super();
  }

  handle(): void {
    seen.push(`synced ${this.note}`);
  }
}

/** Runs a function set by the test, because the data of a job cannot be a function. */
@Job()
export class RunScript extends Job {
  static script: (job: JobContext) => unknown = () => undefined;

  handle(): unknown {
    return RunScript.script(this.job);
  }
}
