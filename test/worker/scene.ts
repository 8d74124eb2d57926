/** The scene for tests of a worker: an application, a gate to wait for, and a job that notes that it ran. */
import type { Configuration } from '../../src/application/configuration/configuration';
import { Job } from '../../src/job/job';
import { Gate, testApplication, type TestApplication } from '../support/application';

export let application: TestApplication;
/** Is opened at the end of each test at the latest. */
export let gate: Gate;
/** The notes of jobs, in order. */
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

/** Sets up a fresh scene before each test of the file. */
export function setTheScene(configuration?: Configuration): void {
  beforeEach(() => {
    application = testApplication(configuration);
    gate = new Gate();
    ran = [];
  });

  afterEach(async () => {
    gate.open();
    await application.manager.close();
  });
}
