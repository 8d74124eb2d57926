import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtInConnectors, type ConnectionConfig, QueueManager, silentLogger } from '../../src/index';
import { JobBus } from '../../src/bus/bus';
import { Child } from '../support/child-process';
import { eventually } from '../support/eventually';
import { type RedisServer, startRedisServer } from '../support/redis-server';
import { Notes } from './worker-child';

const CHILD = join(__dirname, 'worker-child.ts');

let redis: RedisServer;
let folder: string;
let file: string;
let manager: QueueManager;
let bus: JobBus;
let children: Child[];

beforeAll(async () => {
  redis = await startRedisServer();
});

afterAll(() => redis.stop());

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'onqueue-faults-'));
  file = join(folder, 'notes');
  children = [];
});

afterEach(async () => {
  await Promise.all(children.map((child) => child.kill()));
  await manager.close();
  rmSync(folder, { recursive: true, force: true });
});

const stores: [string, () => ConnectionConfig][] = [
  ['redis', () => ({ driver: 'redis', url: redis.url, prefix: `${folder}:`, retryAfter: '1s' })],
  ['database', () => ({ driver: 'database', url: `sqlite:${join(folder, 'jobs.sqlite')}`, retryAfter: '1s' })],
];

function open(config: ConnectionConfig): void {
  manager = new QueueManager(
    { connectors: builtInConnectors, logger: silentLogger },
    { connections: { store: config } },
  );
  bus = new JobBus(() => manager);
}

function startWorker(config: ConnectionConfig, options: object = {}): Child {
  const child = new Child(CHILD, JSON.stringify({ connections: { store: config } }), JSON.stringify(options));
  children.push(child);
  return child;
}

const notes = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []);

describe.each(stores)('on %s', (_name, config) => {
  it('the job of a worker killed by -9 is run again by another, at no cost in tries', async () => {
    open(config());
    await bus.dispatch(new Notes(file, 'job', 60_000));
    const first = startWorker(config());
    await eventually(() => notes().includes('job started 1 1'));

    await first.kill();
    startWorker(config());

    await eventually(() => notes().includes('job started 2 1'));
  });

  it('a job that runs ten times as long as the lease runs once, with idle workers waiting for it', async () => {
    open(config());
    await bus.dispatch(new Notes(file, 'job', 10_000));
    startWorker(config());
    startWorker(config());

    await eventually(() => notes().some((line) => line.startsWith('job done')), { deadline: 20_000 });

    expect(notes()).toEqual(['job started 1 1', 'job done 1 1']);
    await eventually(async () => (await manager.connection().size()) === 0);
  }, 30_000);
});
