import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../src/version';
import { Project, requireBuild, root } from '../support/project';

/** Like a bundle with the package inside. */
const BUNDLE = `
const { Inject, Job, Middleware, Queue, UnserializableValueError, dispatch } = require('./inside/dist/index.js');

class Mailer {
  send(to) {
    return 'mail to ' + to;
  }
}
class Loud {
  handle(job, next) {
    console.log('around', job.name);
    return next();
  }
}
Middleware()(Loud);
class Report extends Job {
  handle() {
    console.log('report', this.job.queue, this.attempts);
  }
}
class Welcome extends Job {
  constructor(to) {
    super();
    this.to = to;
  }
  middleware() {
    return [(job, next) => next().finally(() => console.log('done', this.id === job.id))];
  }
  async handle(mailer) {
    console.log(mailer.send(this.to));
    await dispatch(new Report().onQueue('urgent').through(new Loud()));
    await dispatch(Object.assign(new Report(), { at: () => 0 })).catch((error) =>
      console.log('refused', error instanceof UnserializableValueError),
    );
  }
}
Inject(Mailer)(Welcome.prototype, 'handle', 0);
Job()(Report);
Job()(Welcome);
Queue.before(({ job }) => console.log('before', job.name));
module.exports = { Job, Queue, Welcome };
`;

const CONFIGURATION = `
module.exports = {
  connections: { main: { driver: 'database', url: 'sqlite:./jobs.sqlite' } },
  default: 'main',
  logger: { debug() {}, info() {}, warn: console.error, error: console.error },
};
`;

describe('two copies of the package in one process', () => {
  const project = new Project();

  beforeAll(() => {
    requireBuild();
    project.linkPackage();
    project.copy(join(root, 'dist'), 'inside/dist');
    project.copy(join(root, 'dist'), 'later/dist');
    project.write('later/dist/version.js', `exports.VERSION = 'later';`);
    project.write('bundle.js', BUNDLE);
    project.write('onqueue.config.js', CONFIGURATION);
  });

  afterAll(() => project.remove());

  const program = (text: string) => {
    project.write('program.js', text);
    return project.run(['program.js']);
  };

  it('work as one: a worker of one copy runs the jobs of the other with everything that belongs to them', async () => {
    const sent = await program(`
      const { Queue, Welcome } = require('./bundle');
      Welcome.dispatch('ada').then(() => Queue.close());
    `);
    expect(sent).toEqual({ code: 0, stdout: '', stderr: '' });

    const command =
      'node_modules/onqueue/dist/cli/bin.js work --require ./bundle.js --queue default,urgent --stop-when-empty';
    const { code, stdout } = await project.run(command.split(' '));

    // The worker prints its own lines first.
    expect(stdout.split('\n\n').at(-1)?.trim().split('\n')).toEqual([
      'before Welcome',
      'mail to ada',
      'refused true',
      'done true',
      'before Report',
      'around Report',
      'report urgent 1',
    ]);
    expect(code).toBe(0);
  });

  it('work as one with ES modules, in either order, and with the test kit', async () => {
    project.write(
      'program.mjs',
      `import { Welcome, Job } from './bundle.js';
       import { Job as Installed, CapabilityError } from 'onqueue';
       import { runJob } from 'onqueue/testing';
       import { CapabilityError as Inside } from './inside/dist/index.js';
       const { outcome } = await runJob(new Welcome('ada'));
       console.log(Job === Installed, CapabilityError === Inside, outcome);`,
    );
    const { stdout, stderr } = await project.run(['program.mjs']);

    expect(stderr).toBe('');
    expect(stdout.trim().split('\n').at(-1)).toBe('true true completed');
  });

  it('of two versions are refused at the first job', async () => {
    const { stdout } = await program(`
      require('onqueue').Job()(class First {});
      const { Job } = require('./later/dist');
      try {
        Job()(class Second {});
      } catch ({ code, message }) {
        console.log(code, message);
      }
    `);
    expect(stdout).toMatch(
      /^E_TWO_VERSIONS onqueue .* \(.*registry\.js\) is .* onqueue later \(later\/dist\/job\/registry\.js\)/,
    );
  });
});

it('the exported version is that of the package', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

  expect(VERSION).toBe(version);
});
