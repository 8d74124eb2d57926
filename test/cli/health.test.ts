import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SupervisorHealth } from '../../src/worker/supervisor/supervision';
import { eventually } from '../support/eventually';
import { parsePrometheus, type ParsedMetric } from '../support/prometheus';
import type { ChildCommand } from './kit/child-command';
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

async function asked(server: ChildCommand, path: string): Promise<{ status: number; body: object }> {
  const address = await eventually(() => /http:\/\/127\.0\.0\.1:\d+/.exec(server.stderr)?.[0]);
  const response = await fetch(`${address}${path}`);
  return { status: response.status, body: (await response.json()) as object };
}

async function metricsOf(server: ChildCommand): Promise<Map<string, ParsedMetric>> {
  const address = await eventually(() => /http:\/\/127\.0\.0\.1:\d+/.exec(server.stderr)?.[0]);
  return parsePrometheus(await (await fetch(`${address}/metrics`)).text());
}

async function greeted(server: ChildCommand): Promise<number | undefined> {
  const jobs = (await metricsOf(server)).get('onqueue_jobs_total')?.samples;
  return jobs?.get('onqueue_jobs_total{queue="default",job="Greet",outcome="completed"}')?.value;
}

describe('the health of work', () => {
  it('shows that a process is frozen, and that it has recovered', async () => {
    const supervisor = work('--health-port=0');
    await eventually(async () => (await asked(supervisor, '/ready')).status === 200);
    expect(await asked(supervisor, '/live')).toEqual({ status: 200, body: { live: true } });
    const { processes } = (await asked(supervisor, '/health')).body as SupervisorHealth;
    const pid = processes[0]!.pid!;

    project.freeze(pid);
    await eventually(async () => (await asked(supervisor, '/live')).status === 503);
    expect(await asked(supervisor, '/ready')).toEqual({ status: 503, body: { ready: false } });
    process.kill(pid, 'SIGCONT');

    await eventually(async () => (await asked(supervisor, '/live')).status === 200);
    expect((await asked(supervisor, '/health')).body).toMatchObject({
      live: true,
      processes: [{ process: 1, pid, state: 'running', worker: { connection: 'database', queues: ['default'] } }],
    });
  });

  it('is served by the process itself without a supervisor', async () => {
    const worker = work('--no-supervisor', '--health-port=0', '--name=mails');

    await eventually(async () => (await asked(worker, '/ready')).status === 200);

    expect((await asked(worker, '/health')).body).toMatchObject({
      name: 'mails',
      processes: [{ pid: worker.pid }],
    });
    worker.kill('SIGTERM');
    expect(await worker.ended).toEqual(CLEAN);
  });

  it('includes the metrics of a single process', async () => {
    const worker = work('--no-supervisor', '--health-port=0');
    await project.dispatch('Greet', 'Greet');
    await eventually(async () => (await greeted(worker)) === 2);
    expect((await metricsOf(worker)).get('onqueue_event_loop_lag_seconds')?.samples.size).toBe(1);
  });

  it('includes the metrics of all processes, even of dead ones', async () => {
    const supervisor = work('--health-port=0');
    await project.dispatch('Greet', 'Greet');
    await eventually(async () => (await greeted(supervisor)) === 2);

    await project.dispatch('Exit');
    await eventually(() => supervisor.stderr.includes('ended with code 7'));
    expect(await greeted(supervisor)).toBe(2);

    await project.dispatch('Greet');
    await eventually(async () => (await greeted(supervisor)) === 3);
  });

  it.each([[[]], [['--no-supervisor']]])('fails at once if the port is taken (%j)', async (line) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;

    const refused = work(`--health-port=${port}`, ...line);

    expect(await refused.ended).toEqual({ code: 1, signal: null });
    expect(refused.stderr).toContain(
      `this process cannot listen on 127.0.0.1:${port}: another process already listens there`,
    );
    expect(refused.stdout).toBe('');
    other.close();
  });
});
