/** What a test of a worker plays with: an application of its own, and jobs that note what they did or wait for a gate. */
import { Job } from '../../src/job/job';
import { Gate, testApplication, type TestApplication } from '../support/application';

export let application: TestApplication;
/** Open at the end of each test, at the latest. */
export let gate: Gate;
/** What jobs noted, in the order in which they did. */
export let ran: string[];

@Job()
export class Note extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(this.text);
  }
}

/** For each test of the file anew. */
export function setTheScene(): void {
  beforeEach(() => {
    application = testApplication();
    gate = new Gate();
    ran = [];
  });

  afterEach(async () => {
    gate.open();
    await application.manager.close();
  });
}
