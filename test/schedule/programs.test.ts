/** Schedules in separate processes. */
import { Project, requireBuild } from '../support/project';

let project: Project;

beforeAll(() => requireBuild());

beforeEach(() => {
  project = new Project();
  project.linkPackage();
});

afterEach(() => project.remove());

const program = (declare: string): string => `
const { Job, Queue } = require('onqueue');
class Prune extends Job { handle() {} }
Job()(Prune);
${declare}
console.log('declared');
`;

test('an incomplete declaration ends the program with an error that names its place', async () => {
  project.write('app.js', program('Queue.schedule(() => new Prune()).name("prune");'));
  const { code, stdout, stderr } = await project.run(['app.js']);

  expect(code).toBe(1);
  expect(stdout).toBe('declared\n');
  expect(stderr).toContain("Queue.schedule() in app.js:5:7: 'prune' is not valid. It does not say when");
  expect(stderr).toMatch(/at .*app\.js:5:7/);
});

test('a program that declares schedules and keeps none ends by itself', async () => {
  project.write('app.js', program('Queue.schedule(() => new Prune()).daily();'));

  expect(await project.run(['app.js'])).toMatchObject({ code: 0, stdout: 'declared\n' });
});
