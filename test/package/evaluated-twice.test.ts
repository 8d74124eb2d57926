import { Project, requireBuild } from '../support/project';

jest.setTimeout(120_000);

const JOBS = `
import { Job } from 'onqueue';

globalThis.evaluations = (globalThis.evaluations ?? 0) + 1;
const evaluation = globalThis.evaluations;

export class Mailer {
  send(to) {
    console.log('evaluation', evaluation, 'greets', to);
  }
}

export const Greet = Job({ tries: 1 })(
  class Greet extends Job {
    constructor(to) {
      super();
      this.to = to;
    }
    handle() {
      this.make(Mailer).send(this.to);
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

/** Like a test that another loader has compiled: its stub is for its own `Mailer`. */
const STUBBED = `
import { Queue } from 'onqueue';
import { Greet, Mailer } from './jobs.mjs?t=1';

const queue = Queue.fake({ stubs: [[Mailer, { send: (to) => console.log('the stub sends to', to) }]] });
await Greet.dispatch('ada');
const { completed } = await queue.drain({ throwOnFailure: true });
console.log(completed[0].job instanceof Greet, globalThis.evaluations);
queue.restore();
`;

describe('a program and a configuration that load the same jobs with different loaders', () => {
  const project = new Project();

  beforeAll(() => {
    requireBuild();
    project.linkPackage();
    project.write('jobs.mjs', JOBS);
    project.write('onqueue.config.mjs', CONFIGURATION);
    project.write('program.mjs', PROGRAM);
    project.write('stubbed.mjs', STUBBED);
  });

  afterAll(() => project.remove());

  it('dispatch and run jobs of the newest evaluation', async () => {
    const { code, stdout, stderr } = await project.run(['program.mjs']);

    expect(stderr).toBe('');
    // The second is that of the configuration, which is loaded at the first dispatch.
    expect(stdout.trim().split('\n')).toEqual(['ada', 'bob', 'eve'].map((name) => `evaluation 3 greets ${name}`));
    expect(code).toBe(0);
  });

  it('run the classes of the program, which its stubs are for, after the configuration has loaded them again', async () => {
    expect(await project.run(['stubbed.mjs'])).toEqual({
      code: 0,
      stdout: 'the stub sends to ada\ntrue 2\n',
      stderr: '',
    });
  });
});
