import { Project, requireBuild } from '../support/project';

jest.setTimeout(120_000);

const JOBS = `
import { Job } from 'onqueue';

globalThis.evaluations = (globalThis.evaluations ?? 0) + 1;
const evaluation = globalThis.evaluations;

export const Greet = Job({ tries: 1 })(
  class Greet extends Job {
    constructor(to) {
      super();
      this.to = to;
    }
    handle() {
      console.log('evaluation', evaluation, 'greets', this.to);
    }
  },
);
`;

const CONFIGURATION = `
import { Greet } from './jobs.mjs';

export default {
  connections: { main: { driver: 'database', url: 'sqlite:./jobs.sqlite' } },
  jobs: [Greet],
  logger: { debug() {}, info() {}, warn: console.error, error: console.error },
};
`;

/** Loads modules like tsx and development servers of frameworks, separately from those of the configuration. */
const PROGRAM = `
import { Queue, Worker } from 'onqueue';

const first = await import('./jobs.mjs?t=1');
await first.Greet.dispatch('ada');
const second = await import('./jobs.mjs?t=2');
await second.Greet.dispatch('bob');
await first.Greet.dispatch('eve');
await new Worker({ stopWhenEmpty: true }).run();
await Queue.close();
`;

describe('a program and a configuration that load the same jobs with different loaders', () => {
  const project = new Project();

  beforeAll(() => {
    requireBuild();
    project.linkPackage();
    project.write('jobs.mjs', JOBS);
    project.write('onqueue.config.mjs', CONFIGURATION);
    project.write('program.mjs', PROGRAM);
  });

  afterAll(() => project.remove());

  it('dispatch and run jobs of the newest evaluation', async () => {
    const { code, stdout, stderr } = await project.run(['program.mjs']);

    expect(stderr).toBe('');
    // The configuration is loaded at the first dispatch and evaluates the jobs a second time.
    expect(stdout.trim().split('\n')).toEqual(['ada', 'bob', 'eve'].map((name) => `evaluation 3 greets ${name}`));
    expect(code).toBe(0);
  });
});
