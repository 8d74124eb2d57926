import { JobProject } from '../cli/kit/job-project';
import type { ChildCommand } from '../cli/kit/child-command';

let project: JobProject;

beforeEach(() => {
  project = new JobProject(600);
});

afterEach(() => project.end());

function work(...line: readonly string[]): ChildCommand {
  return project.onqueue(['work', ...line]);
}

const texts = (): string[] => project.lines.map(({ text }) => text);
const pids = (): number => new Set(project.lines.map(({ pid }) => pid)).size;

describe('a promise or timer that a handler leaves behind', () => {
  it('fails the attempt when it rejects, and the process goes on', async () => {
    await project.dispatch('Greet', 'Float', 'Greet', 'FloatNow', 'Greet');
    const worker = work();

    await worker.prints('FloatNow failed: left at once');
    await worker.prints('Float failed: left behind');

    // The signal aborts with the error, and the attempt costs a try like any failed one.
    expect(texts().filter((text) => text === 'aborted:left-behind')).toHaveLength(2);
    expect(worker.stderr).toContain('Float released, next try at once: left behind');
    expect(pids()).toBe(1);
  });

  it('is logged with the name of the job if that has ended', async () => {
    await project.dispatch('FloatLate', 'Greet');
    const worker = work();

    await worker.prints('what handle() had left behind, after its outcome stood: left for later');

    expect(worker.stderr).toContain('"job":"FloatLate"');
    expect(worker.stderr).toContain('FloatLate completed');
    expect(pids()).toBe(1);
  });

  it('fails the attempt when it throws, and the process is replaced without affecting other jobs', async () => {
    await project.dispatch('Wait', 'Throw');
    const worker = work('--concurrency=2');
    await worker.prints('Throw failed: thrown aside');
    await project.dispatch('Greet');

    // The next job does not run in the process that waits for its last job.
    const next = await project.pidOf('hello');
    project.write({ go: '' });
    const last = await project.pidOf('went');

    expect(next).not.toBe(last);
    expect(worker.stderr).toContain('ends: an error was not caught; the next starts now.');
  });

  it('ends the process, once its jobs have ended, if it belongs to no job', async () => {
    await project.dispatch('Wait', 'Ring');
    const worker = work('--concurrency=2');

    await worker.prints('A rejection that nobody waited for ends this process, once its jobs have ended: of nobody');
    await project.dispatch('Greet');
    const next = await project.pidOf('hello');
    project.write({ go: '' });

    expect(await project.pidOf('went')).not.toBe(next);
    expect(worker.stderr).toContain('Ring completed');
  });

  it('ends an unsupervised process with a failure code', async () => {
    await project.dispatch('Ring');

    expect(await work('--no-supervisor').ended).toEqual({ code: 1, signal: null });
  });
});
