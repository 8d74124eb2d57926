/** Samples that count no jobs are the same programs on SQS: only the configuration is another. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Project, requireBuild, root } from '../support/project';
import { SqsServer } from '../support/sqs-server';

const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };
const MEMORY = "connections: { memory: { driver: 'memory' } }";

let server: SqsServer;
let project: Project;

beforeAll(async () => {
  requireBuild();
  server = await SqsServer.start();
  project = new Project();
  project.linkPackage();
  project.copy(join(root, 'build/samples'), 'samples');
});
afterAll(async () => {
  project.remove();
  await server.stop();
});

it.each([
  ['hooks', 'pictures'],
  ['injection', 'orders'],
])('the sample %s says on SQS what it says elsewhere', async (name, queue) => {
  const model = server.createQueue(queue);
  const program = join('samples', name, 'main.js');
  const elsewhere = await project.run([program]);
  const { endpoint, prefix } = server;
  const sqs = { driver: 'sqs', region: 'eu-west-1', endpoint, prefix, credentials: CREDENTIALS };
  const configuration = { default: 'sqs', failed: 'memory', connections: { sqs, memory: { driver: 'memory' } } };
  const source = readFileSync(join(project.folder, program), 'utf8');
  expect(source).toContain(MEMORY);
  project.write(program, source.replace(MEMORY, JSON.stringify(configuration).slice(1, -1)));

  const { code, stdout } = await project.run([program]);

  expect({ code, stdout }).toEqual({ code: 0, stdout: elsewhere.stdout });
  expect(server.count('SendMessageBatch')).toBeGreaterThan(0);
  expect(model.bodies).toEqual([]);
});
