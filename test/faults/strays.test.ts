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

describe('what a handler leaves behind', () => {
  it('has its attempt fail when it is rejected, and its process lives on', async () => {
    await project.dispatch('Greet', 'Float', 'Greet', 'FloatNow', 'Greet');
    const worker = work();

    await worker.prints('FloatNow failed: left at once');
    await worker.prints('Float failed: left behind');

    // Its signal says so, and the attempt costs a try like any other that fails.
    expect(texts().filter((text) => text === 'aborted:left-behind')).toHaveLength(2);
    expect(worker.stderr).toContain('Float released, next try at once: left behind');
    expect(pids()).toBe(1);
  });

  it('is told with the name of the job when that has ended', async () => {
    await project.dispatch('FloatLate', 'Greet');
    const worker = work();

    await worker.prints('what handle() had left behind, after its outcome stood: left for later');

    expect(worker.stderr).toContain('"job":"FloatLate"');
    expect(worker.stderr).toContain('FloatLate completed');
    expect(pids()).toBe(1);
  });

  it('has its attempt fail when it throws, and its process replaced without harm to others', async () => {
    await project.dispatch('Wait', 'Throw');
    const worker = work('--concurrency=2');
    await worker.prints('Throw failed: thrown aside');
    await project.dispatch('Greet');

    // Not by the process that waits for its last job.
    const next = await project.pidOf('hello');
    project.write({ go: '' });
    const last = await project.pidOf('went');

    expect(next).not.toBe(last);
    expect(worker.stderr).toContain('ends: an error was not caught; the next starts now.');
  });

  it('ends the process where it is no job, once the others have ended', async () => {
    await project.dispatch('Wait', 'Ring');
    const worker = work('--concurrency=2');

    await worker.prints('A rejection that nobody waited for ends this process, once its jobs have ended: of nobody');
    await project.dispatch('Greet');
    const next = await project.pidOf('hello');
    project.write({ go: '' });

    expect(await project.pidOf('went')).not.toBe(next);
    expect(worker.stderr).toContain('Ring completed');
  });

  it('ends a process that nobody replaces with a code that says so', async () => {
    await project.dispatch('Ring');

    expect(await work('--no-supervisor').ended).toEqual({ code: 1, signal: null });
  });
});
