import { QueueManager } from '../../src/application/queue-manager';
import { silentLogger } from '../../src/base/logger';
import { builtInConnectors } from '../../src/connections/built-in';
import { JobProject } from '../cli/kit/job-project';
import { eventually } from '../support/eventually';

let project: JobProject;
let manager: QueueManager;

beforeEach(() => {
  project = new JobProject();
  const database = { driver: 'database', url: `sqlite:${project.folder}/queue.sqlite` } as const;
  manager = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections: { database } });
});

afterEach(async () => {
  await manager.close();
  await project.end();
});

async function completed(): Promise<number> {
  const { jobs } = await manager.connection().figures();
  return jobs.find(({ job }) => job === 'Greet')?.completed ?? 0;
}

describe('the figures of a killed worker', () => {
  it('miss at most the counts it had not stored yet, and count nothing twice', async () => {
    const first = project.onqueue(['work', '--no-supervisor', '--stop-when-empty']);
    await project.dispatch('Greet', 'Greet', 'Greet');
    await first.ended;
    const clean = project.onqueue(['work', '--no-supervisor', '--stop-when-empty']);
    await clean.ended;
    expect(await completed()).toBe(3);

    const killed = project.onqueue(['work', '--no-supervisor']);
    await project.dispatch('Greet', 'Greet');
    await eventually(async () => (await manager.connection().size()) === 0);
    killed.kill('SIGKILL');
    await killed.ended;
    expect(await completed()).toBeLessThanOrEqual(5);

    await project.dispatch('Greet');
    const before = await completed();
    await project.onqueue(['work', '--no-supervisor', '--stop-when-empty']).ended;
    expect(await completed()).toBe(before + 1);
  });
});
