import { type ChildCommand, isAlive } from './kit/child-command';
import { JobProject } from './kit/job-project';

const CLEAN = { code: 0, signal: null };

let project: JobProject;

beforeEach(() => {
  project = new JobProject();
});

afterEach(() => project.end());

function work(...line: readonly string[]): ChildCommand {
  return project.onqueue(['work', ...line]);
}

describe('work', () => {
  it('runs jobs in the given number of processes, prints one header, and marks the lines of each process', async () => {
    await project.dispatch('Wait', 'Wait');
    const supervisor = work('--processes=2', '--stop-when-empty');
    const pids = [await project.pidOf('waiting', 1), await project.pidOf('waiting', 2)];

    project.write({ go: '' });

    expect(await supervisor.ended).toEqual(CLEAN);
    expect(new Set(pids).size).toBe(2);
    expect(supervisor.stderr.match(/The worker starts/g)).toHaveLength(1);
    const lines = supervisor.stderr.split('\n').filter((line) => line.includes('Wait completed'));
    expect(lines.map((line) => (JSON.parse(line) as { process: number }).process).toSorted()).toEqual([1, 2]);
  });

  it('replaces a process after --recycle, while its last job is still running', async () => {
    await project.dispatch('Wait');
    const supervisor = work('--recycle=1500ms');
    const old = await project.pidOf('waiting');
    await supervisor.prints('it reached the age of --recycle; the next starts now');

    await project.dispatch('Greet');

    expect(await project.pidOf('hello')).not.toBe(old);
    expect(isAlive(old)).toBe(true);
    project.write({ go: '' });
    expect(await project.pidOf('went')).toBe(old);
    supervisor.kill('SIGTERM');
    expect(await supervisor.ended).toEqual(CLEAN);
    expect(isAlive(old)).toBe(false);
  });

  it('loads the code again when a file changes with --watch, also after code that cannot be loaded', async () => {
    await project.dispatch('Wait');
    const supervisor = work('--watch');
    const old = await project.pidOf('waiting');
    const code = project.read('jobs.js');

    project.write({ 'jobs.js': 'not yet(' });
    await supervisor.prints('ends: its code has changed');
    project.write({ go: '' });
    await supervisor.prints('could not be loaded');
    project.write({ 'jobs.js': code.replace("'hello'", "'changed'"), 'node_modules/a/b.js': '' });
    await project.dispatch('Greet');

    const next = await project.pidOf('changed');
    expect([old, await project.pidOf('went')]).toEqual([old, old]);
    expect(next).not.toBe(old);
    supervisor.kill('SIGTERM');
    expect(await supervisor.ended).toEqual(CLEAN);
  });

  it('leaves no job of a dead process behind with --drain', async () => {
    await project.dispatch('Wait');
    const supervisor = work('--drain');
    const old = await project.pidOf('waiting');

    process.kill(old, 'SIGKILL');
    project.write({ go: '' });

    expect(await supervisor.ended).toEqual(CLEAN);
    const next = await project.pidOf('went');
    expect(supervisor.stderr).toContain(`Process 1 (pid ${next}) started.`);
  });

  it('replaces a process that has grown too large', async () => {
    const supervisor = work('--memory=1');

    await supervisor.prints(
      /uses more memory than --memory allows; the next starts in 0\.[345] s\. It has worked for less than/,
    );
    await supervisor.prints(/the next starts in (0\.[5-9]|1) s/);

    supervisor.kill('SIGTERM');
    expect(await supervisor.ended).toEqual(CLEAN);
  });

  it('replaces its processes when all workers are told to restart', async () => {
    await project.dispatch('Greet');
    const supervisor = work();
    const old = await project.pidOf('hello');

    expect(await project.onqueue(['restart']).ended).toEqual(CLEAN);

    await supervisor.prints('all workers were told to restart');
    await project.dispatch('Greet');
    expect(await project.pidOf('hello', 2)).not.toBe(old);
  });

  it('loads no file of the project itself', async () => {
    const told = "require('node:fs').appendFileSync('loaded.txt', process.pid + ' ');";
    project.write({ 'onqueue.config.js': `${told}${project.read('onqueue.config.js')}` });

    const supervisor = work('--processes=2', '--stop-when-empty');
    await supervisor.ended;

    const pids = project.read('loaded.txt').trim().split(' ');
    expect(pids).toHaveLength(2);
    expect(pids).not.toContain(String(supervisor.pid));
  });

  it('ends at once if no process can start, and says why once', async () => {
    const supervisor = work('databse', '--processes=3');

    expect(await supervisor.ended).toEqual({ code: 2, signal: null });
    expect(supervisor.stderr.match(/Did you mean 'database'\?/g)).toHaveLength(1);
  });
});
