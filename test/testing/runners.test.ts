import { join } from 'node:path';
import { Project, root } from '../support/project';

const typescript = ['--require', join(root, 'test/support/register-typescript.cjs')];

const JOBS = `
import { Inject, Job } from 'onqueue';

export class Mailer {
  async send(to: string): Promise<string> { throw new Error('no mail to ' + to); }
}

@Job({ tries: 2, backoff: '1h' })
export class SendWelcome extends Job {
  constructor(readonly email: string) { super(); }
  async handle(@Inject(Mailer) mailer: Mailer): Promise<void> { await mailer.send(this.email); }
}
`;

let project: Project;

beforeAll(() => {
  project = new Project();
  project.write('jobs.ts', JOBS);
});

afterAll(() => project.remove());

describe('the test kit', () => {
  it('works under node:test, where a failed assertion is readable', async () => {
    project.write(
      'node.ts',
      `
      import { afterEach, beforeEach, test } from 'node:test';
      import { Queue } from 'onqueue';
      import { SendWelcome } from './jobs';

      let queue;
      beforeEach(() => { queue = Queue.fake(); });
      afterEach(() => queue.restore());

      test('passes', async () => {
        await SendWelcome.dispatch('ada@example.org');
        queue.assertPushed(SendWelcome, 1);
      });
      test('fails', async () => {
        await SendWelcome.dispatch('bob@example.org');
        queue.assertNothingPushed();
      });
      `,
    );

    const { code, stdout } = await project.run([...typescript, '--test-reporter=tap', 'node.ts']);

    expect(code).toBe(1);
    expect(stdout).toContain('ok 1 - passes');
    expect(stdout).toContain('not ok 2 - fails');
    expect(stdout).toContain('Something was pushed, and nothing should be. What was pushed:');
    expect(stdout).toContain("1. SendWelcome { email: 'bob@example.org' } on the queue 'default'");
    expect(stdout).toContain("code: 'ERR_ASSERTION'");
  });

  it('leaves nothing open, so that a process that used all of it ends by itself', async () => {
    project.write(
      'all.ts',
      `
      import { Queue, Worker } from 'onqueue';
      import { runJob } from 'onqueue/testing';
      import { Mailer, SendWelcome } from './jobs';

      const mailer = { send: async (to: string) => console.log('mail to', to) };
      async function main() {
        const queue = Queue.fake({ stubs: [[Mailer, mailer]] });
        void SendWelcome.dispatch('ada@example.org').delay('1h');
        queue.assertPushed(SendWelcome);
        void new Worker().run();
        await queue.advance('1h');
        await SendWelcome.dispatch('bob@example.org').onQueue('other').delay('10m');
        await queue.drain({ delayed: true });
        await runJob(new SendWelcome('carol@example.org'), { stubs: [[Mailer, mailer]] });
        await SendWelcome.dispatch('never@example.org').delay('1d');
      }
      void main();
      `,
    );

    const { code, stdout } = await project.run([...typescript, 'all.ts'], { JEST_WORKER_ID: '1' });

    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'mail to ada@example.org\nmail to bob@example.org\nmail to carol@example.org\n',
    });
  });

  it('is not loaded by a program that does not use it', async () => {
    project.write(
      'program.ts',
      `
      import { Queue } from 'onqueue';
      Queue.configure({ connections: { main: { driver: 'memory' } } });
      console.log(Object.keys(require.cache).filter((file) => file.includes('/src/testing/')).length);
      `,
    );

    expect(await project.run([...typescript, 'program.ts'])).toEqual({ code: 0, stdout: '0\n', stderr: '' });
  });
});
