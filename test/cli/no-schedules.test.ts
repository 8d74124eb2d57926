import { CommandKit } from './kit/command-kit';

const CONFIG = "module.exports = { connections: { memory: { driver: 'memory' } } };";
const JOB = `const { Job, Queue } = require('onqueue');
const Prune = Job()(class Prune extends Job { handle() {} });
Queue.schedule(() => new Prune()).daily().name('prune').onConnection('sync');`;

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit({ 'onqueue.config.js': CONFIG, 'jobs.js': JOB });
});

afterEach(() => kit.close());

it('schedule:list says if there are none', async () => {
  const { stdout, stderr, code } = await kit.run('schedule:list');
  expect([stdout, code]).toEqual(['', 0]);
  expect(stderr).toContain('No schedule is declared. Import the files of your jobs');
  expect((await kit.run('schedule:list', '--json')).stdout).toBe('{"items":[]}\n');
});

it('schedule:list says why a schedule cannot be kept, instead of warning that no worker keeps it', async () => {
  const { stdout, stderr } = await kit.run('schedule:list', '--require=./jobs.js');
  expect(stdout).toMatch(/^prune .* 'sync'/m);
  expect(stderr).not.toContain('No live worker');
});
