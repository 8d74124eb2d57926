/** The scene for tests of the executor: an application, and a job whose behaviour the test decides. */
import { Inject } from '../../src/container/parameters';
import { Job } from '../../src/job/job';
import type { Counters } from '../../src/payload/counters';
import { Executor } from '../../src/worker/run';
import { testApplication, type TestApplication } from '../support/application';
import { payloadOf, reserved } from '../support/reservation';
import type { Outcome } from '../../src/worker/outcome';

export let application: TestApplication;
export let executor: Executor;
/** The calls, in order. */
export let calls: string[];

/** What `handle()` of `Act` does and returns. */
export const act: { behave: (job: Act) => unknown } = { behave: () => undefined };

export class Journal {
  write(line: string): void {
    calls.push(line);
  }
}

@Job({ tries: 3, backoff: [10, 60] })
export class Act extends Job {
  constructor(readonly line: string = 'line') {
    super();
  }
  handle(@Inject(Journal) journal: Journal): unknown {
    journal.write(`handle ${this.line}`);
    return act.behave(this);
  }
  failed(error: Error, @Inject(Journal) journal: Journal): void {
    journal.write(`failed ${this.line}: ${error.message}`);
  }
}

export const run = (job: object, counters?: Partial<Counters>): Promise<Outcome> =>
  executor.run(reserved(application.manager, payloadOf(job), counters));

/** Sets up a fresh scene before each test of the file. */
export function setTheScene(): void {
  beforeEach(() => {
    application = testApplication();
    executor = new Executor(application.manager, { defaults: {}, grace: 5 });
    calls = [];
    act.behave = () => undefined;
  });

  afterEach(async () => {
    executor.close();
    await application.manager.close();
  });
}
