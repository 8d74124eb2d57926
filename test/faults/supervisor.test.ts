import { type ChildCommand, isAlive } from '../cli/kit/child-command';
import { JobProject } from '../cli/kit/job-project';
import { eventually } from '../support/eventually';
import { meantToPass } from '../support/meant-to-pass';
import { startRedisServer } from '../support/redis-server';

const CLEAN = { code: 0, signal: null };

type Work = (...line: readonly string[]) => ChildCommand;

/** A test in its own project. They run beside each other, because they mostly wait. */
function inProject(play: (project: JobProject, work: Work) => Promise<void>, retryAfter?: number): () => Promise<void> {
  return async () => {
    const project = new JobProject(retryAfter);
    try {
      await play(project, (...line) => project.onqueue(['work', ...line]));
    } finally {
      await project.end();
    }
  };
}

describe('work', () => {
  // The longest test comes first: fourteen seconds pass before the kill.
  it.concurrent(
    'kills a process that does not stop by the deadline, and ends with a code that says so',
    inProject(async (project, work) => {
      await project.dispatch('Wait');
      const supervisor = work('--grace=0');
      const pid = await project.pidOf('waiting');
      project.freeze(pid);

      supervisor.kill('SIGTERM');

      expect(await supervisor.ended).toEqual({ code: 70, signal: null });
      expect(isAlive(pid)).toBe(false);
      expect(supervisor.stderr).toContain(`Process 1 (pid ${pid}) did not end when it was told to, and was killed`);
    }),
  );

  it.concurrent(
    'lets a process end by itself whose store stands still',
    inProject(async (project, work) => {
      const redis = await startRedisServer();
      try {
        const config = `require('./jobs'); module.exports = { connections: { redis: { driver: 'redis', url: '${redis.url}' } } };`;
        project.write({ 'onqueue.config.js': config });
        const supervisor = work('--grace=0');
        await eventually(() => supervisor.stderr.includes('The worker starts'));
        redis.process.kill('SIGSTOP');

        supervisor.kill('SIGTERM');

        expect(await supervisor.ended).toEqual(CLEAN);
        expect(supervisor.stderr).not.toContain('was killed');
      } finally {
        redis.process.kill('SIGCONT');
        await redis.stop();
      }
    }),
  );

  it.concurrent(
    'starts another process for a killed one, whose job runs again',
    inProject(async (project, work) => {
      await project.dispatch('Wait');
      const supervisor = work();
      const killed = await project.pidOf('waiting');

      process.kill(killed, 'SIGKILL');

      const next = await project.pidOf('waiting', 2);
      expect(supervisor.stderr).toMatch(
        new RegExp(String.raw`\(pid ${killed}\) was ended by SIGKILL while it ran Wait [\w-]+; the next starts now`),
      );
      expect(next).not.toBe(killed);
      expect(supervisor.stderr.match(/The worker starts/g)).toHaveLength(1);
      project.write({ go: '' });
      await project.pidOf('went');
    }),
  );

  it.concurrent(
    'continues at once after jobs that end their process, and names them',
    inProject(async (project, work) => {
      await project.dispatch('Exit', 'Exit', 'Exit', 'Greet', 'Greet');
      const supervisor = work();

      await project.pidOf('hello', 2);

      expect(project.lines.filter(({ text }) => text === 'exiting')).toHaveLength(3);
      expect(supervisor.stderr.match(/ended with code 7 while it ran Exit [\w-]+; the next starts now/g)).toHaveLength(
        3,
      );
    }, 600),
  );

  it.concurrent(
    'stops cleanly when the npm that started it is killed',
    inProject(async (project) => {
      await project.dispatch('Wait');
      const npm = project.underNpm(['work']);
      const pid = await project.pidOf('waiting');

      npm.kill('SIGKILL');
      await npm.prints('npm, which started this process, has gone');
      project.write({ go: '' });

      // Waits until all processes have closed their shared standard error.
      await npm.ended;
      expect(await project.pidOf('went')).toBe(pid);
    }),
  );

  it.concurrent(
    'leaves no process behind when it is killed',
    inProject(async (project, work) => {
      await project.dispatch('Wait', 'Wait');
      const supervisor = work('--processes=2', `--grace=${meantToPass('200ms')}`);
      const pids = [await project.pidOf('waiting', 1), await project.pidOf('waiting', 2)];

      supervisor.kill('SIGKILL');

      await eventually(() => !pids.some(isAlive), { of: 'the end of its processes' });
      expect(project.lines.map(({ text }) => text)).toEqual(['waiting', 'waiting']);
    }),
  );

  it.concurrent(
    'leaves no process behind when it is killed while a job blocks it',
    inProject(async (project, work) => {
      await project.dispatch('Block');
      const supervisor = work('--grace=0');
      const pid = await project.pidOf('blocking');

      supervisor.kill('SIGKILL');

      await eventually(() => !isAlive(pid), { of: 'the end of its process' });
    }),
  );

  it.concurrent.each(['SIGTERM', 'SIGQUIT'] as const)(
    'gives the running job back on %s without costing a try',
    (signal) =>
      inProject(async (project, work) => {
        await project.dispatch('Wait');
        const supervisor = work('--grace=0');
        const pid = await project.pidOf('waiting');

        supervisor.kill(signal);

        expect(await supervisor.ended).toEqual(CLEAN);
        expect(isAlive(pid)).toBe(false);
        project.write({ go: '' });
        await work('--once').ended;
        expect(project.lines.map(({ text, attempt }) => [text, attempt])).toEqual([
          ['waiting', 1],
          ['waiting', 1],
          ['went', 1],
        ]);
      })(),
  );

  it.concurrent(
    'lets the running job finish on Ctrl-C, which reaches the whole process group of the terminal',
    inProject(async (project) => {
      await project.dispatch('Wait');
      const supervisor = project.onqueue(['work'], { detached: true });
      await project.pidOf('waiting');

      process.kill(-supervisor.pid, 'SIGINT');
      await supervisor.prints('running jobs may finish');
      project.write({ go: '' });

      expect(await supervisor.ended).toEqual(CLEAN);
      expect(project.read('done.txt')).toContain('went');
    }),
  );

  it.concurrent(
    'replaces a process whose job blocks it past its timeout, and blames no other job',
    inProject(async (project, work) => {
      await project.dispatch('Hang', 'Hog');
      const supervisor = work('--grace=0', '--concurrency=2', '--log=json');
      const blocked = await project.pidOf('blocking');

      await supervisor.prints(`(pid ${blocked}) was ended because Hog `);
      await project.dispatch('Greet');

      expect(await project.pidOf('hello')).not.toBe(blocked);
      const lines = supervisor.stderr.trimEnd().split('\n');
      const logged = lines.map((line) => JSON.parse(line) as { readonly msg: string; readonly jobs?: object });
      const jobs = [{ job: 'Hog', id: expect.any(String) as string, queue: 'default' }];
      const account = /stands still in Hog \S+, past timeout and grace of (Hang \S+, Hog|Hog \S+, Hang) /;
      expect(logged.filter(({ msg }) => msg.includes('event loop'))).toMatchObject([
        { level: 'error', pid: blocked, jobs, msg: expect.stringMatching(account) as string },
        {
          level: 'warn',
          pid: blocked,
          jobs,
          msg: expect.stringMatching(/because Hog \S+ blocked its event loop;/) as string,
        },
      ]);
    }),
  );

  it.concurrent(
    'replaces a process whose slots are all held by given-up jobs that never return',
    inProject(async (project, work) => {
      await project.dispatch('Hang', 'Hang');
      const supervisor = work('--grace=0', '--concurrency=2');
      const stuck = await project.pidOf('hanging', 2);

      await supervisor.prints(
        `(pid ${stuck}) ends: all its slots were occupied by jobs that had been given up; the next`,
      );
      await project.dispatch('Greet');

      expect(await project.pidOf('hello')).not.toBe(stuck);
      expect(supervisor.stderr).toMatch(
        /handle\(\) has not returned: Hang \S+ \(\d+ s\), Hang \S+ \(\d+ s\)\. The process ends/,
      );
      await eventually(() => !isAlive(stuck));
    }),
  );

  it.concurrent(
    'ends an unsupervised process with a failure code if such jobs hold all its slots',
    inProject(async (project, work) => {
      await project.dispatch('Hang');

      const worker = work('--no-supervisor', '--grace=0');

      expect(await worker.ended).toEqual({ code: 70, signal: null });
    }),
  );

  it.concurrent(
    'ends an unsupervised process with a failure code if a job blocks it past its timeout',
    inProject(async (project, work) => {
      await project.dispatch('Hog');

      const worker = work('--no-supervisor', '--grace=0');

      expect(await worker.ended).toEqual({ code: 70, signal: null });
    }),
  );
});
