/** Samples that count no jobs also run on SQS; only the configuration differs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Project, requireBuild, root } from '../support/project';
import { SqsServer } from '../support/sqs-server';

const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };
const MEMORY = "connections: { memory: { driver: 'memory' } }";

const samples = [
  ['hooks', 'pictures'],
  ['injection', 'orders'],
] as const;

type Run = Awaited<ReturnType<Project['run']>>;

let server: SqsServer;
let project: Project;
/** Started together, because a worker on SQS waits for seconds before it considers a queue empty. */
let runs: ReadonlyMap<string, readonly [elsewhere: Promise<Run>, onSqs: Promise<Run>]>;

beforeAll(async () => {
  requireBuild();
  server = await SqsServer.start();
  project = new Project();
  project.linkPackage();
  project.copy(join(root, 'build/samples'), 'samples');
  runs = new Map(samples.map(([name, queue]) => [name, start(name, queue)]));
});
afterAll(async () => {
  project.remove();
  await server.stop();
});

function start(name: string, queue: string): readonly [Promise<Run>, Promise<Run>] {
  server.createQueue(queue);
  const program = join('samples', name, 'main.js');
  const { endpoint, prefix } = server;
  const sqs = { driver: 'sqs', region: 'eu-west-1', endpoint, prefix, credentials: CREDENTIALS };
  const configuration = { default: 'sqs', failed: 'memory', connections: { sqs, memory: { driver: 'memory' } } };
  const source = readFileSync(join(project.folder, program), 'utf8');
  expect(source).toContain(MEMORY);
  const changed = join('samples', name, 'main-on-sqs.js');
  project.write(changed, source.replace(MEMORY, JSON.stringify(configuration).slice(1, -1)));
  return [project.run([program]), project.run([changed])];
}

it.each(samples)('the sample %s prints the same on SQS as elsewhere', async (name, queue) => {
  const [elsewhere, onSqs] = await Promise.all(runs.get(name)!);

  expect(onSqs).toMatchObject({ code: 0, stdout: elsewhere.stdout });
  expect(server.count('SendMessageBatch')).toBeGreaterThan(0);
  expect(server.queues.get(queue)!.bodies).toEqual([]);
});
