import { command, ChildCommand, isAlive } from './kit/child-command';
import { Project } from './kit/project';
import { eventually } from '../support/eventually';
import { meantToPass } from '../support/meant-to-pass';

const CONFIG = `require('./jobs');
module.exports = { connections: { database: { driver: 'database', url: 'sqlite:./queue.sqlite' } } };`;

/** Jobs in JavaScript. Each writes a line to a file, which the tests read. */
const JOBS = `const { appendFileSync, existsSync } = require('node:fs');
const { Job } = require('onqueue');
const write = (text) => appendFileSync('done.txt', text + '\\n');

exports.Greet = Job({ tries: 2 })(class Greet extends Job {
  constructor(name) { super(); this.name = name; }
  handle() { write('hello ' + this.name); }
});

exports.Wait = Job()(class Wait extends Job {
  async handle() {
    write('waiting ' + process.pid);
    while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 10));
    write('went');
  }
});

exports.Block = Job()(class Block extends Job {
  handle() {
    write('blocking ' + process.pid);
    // Yields the processor.
    for (const cell = new Int32Array(new SharedArrayBuffer(4)); ; ) Atomics.wait(cell, 0, 0, 10);
  }
});`;

const DISPATCH = `const { Queue } = require('onqueue');
const [job, ...given] = process.argv.slice(2);
const jobs = require(require('node:fs').existsSync('jobs.ts') ? './jobs.ts' : './jobs');
jobs[job].dispatch(...given).then(() => Queue.close());`;

let project: Project;
const children: ChildCommand[] = [];

function onqueue(...line: readonly string[]): ChildCommand {
  const child = command(project.folder, line);
  children.push(child);
  return child;
}

async function dispatch(...line: readonly string[]): Promise<void> {
  const child = new ChildCommand(project.folder, ['dispatch.js', ...line]);
  children.push(child);
  expect(await child.ended).toEqual({ code: 0, signal: null });
}

/** The process that runs a job, once the job has written its id. */
async function pidOf(what: string): Promise<number> {
  const line = new RegExp(`${what} (\\d+)\n`);
  return Number(await eventually(() => line.exec(project.read('done.txt'))?.[1]));
}

beforeEach(() => {
  project = new Project({ 'onqueue.config.js': CONFIG, 'jobs.js': JOBS, 'dispatch.js': DISPATCH });
});

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.end()));
  project.remove();
});

describe('the command onqueue', () => {
  it('works on a SQLite file with jobs in JavaScript', async () => {
    await dispatch('Greet', 'Ada');

    const work = onqueue('work', '--stop-when-empty', '--log=text');

    expect(await work.ended).toEqual({ code: 0, signal: null });
    expect(project.read('done.txt')).toBe('hello Ada\n');
    expect(work.stdout).toBe('');
    expect(work.stderr).toContain(`${project.folder}/queue.sqlite`);
    expect(work.stderr).toMatch(/^Greet +default +2 +1m +jobs\.js$/m);
    expect(work.stderr).toContain('Greet completed');
  });

  it('works with a configuration and jobs in TypeScript, and injects by emitted types', async () => {
    project.remove();
    project = new Project({
      'dispatch.js': DISPATCH,
      'onqueue.config.ts': `import { defineConfig } from 'onqueue';
        import { Welcome } from './jobs';
        export default defineConfig({
          connections: { database: { driver: 'database', url: 'sqlite:./queue.sqlite' } }, jobs: [Welcome],
        });`,
      'jobs.ts': `import { appendFileSync } from 'node:fs';
        import { Inject, Job } from 'onqueue';
        class Mailer { send(to: string): void { appendFileSync('done.txt', 'mail to ' + to); } }
        @Job({ queue: 'mail' })
        export class Welcome extends Job {
          constructor(readonly to: string) { super(); }
          handle(@Inject() mailer: Mailer): void { mailer.send(this.to); }
        }`,
    });
    await dispatch('Welcome', 'ada@example.org');

    const work = onqueue('work', 'database', '--queue=mail', '--once');

    expect(await work.ended).toEqual({ code: 0, signal: null });
    expect(project.read('done.txt')).toBe('mail to ada@example.org');
  });

  it('finishes the running job at a SIGTERM, and then ends by itself with 0', async () => {
    await project.push('Wait');
    const work = onqueue('work');
    await eventually(() => project.read('done.txt').includes('waiting'));

    work.kill('SIGTERM');
    await work.prints('running jobs may finish');
    project.write({ go: '' });

    expect(await work.ended).toEqual({ code: 0, signal: null });
    expect(project.read('done.txt')).toContain('went');
  });

  it('ends at once at a second signal, with the code of the signal', async () => {
    await project.push('Wait');
    const work = onqueue('work');
    await eventually(() => project.read('done.txt').includes('waiting'));

    work.kill('SIGINT');
    await work.prints('running jobs may finish');
    // A second one shortly after the first counts as its echo.
    await eventually(() => {
      work.kill('SIGINT');
      return work.stderr.includes('ending at once');
    });

    expect(await work.ended).toEqual({ code: 130, signal: null });
    expect(project.read('done.txt')).not.toContain('went');
  });

  it.each([
    ['work', ['work']],
    ['a supervisor', ['work', '--processes=2']],
    ['listen', ['listen']],
  ])('ends %s with its own code even if signals arrive until its very end', async (_what, line) => {
    const work = onqueue(...line);
    await work.prints('The worker starts');

    work.kill('SIGTERM');
    await work.prints('running jobs may finish');
    let hasEnded = false;
    void work.ended.then(() => (hasEnded = true));
    // One per turn of the event loop, as many as possible until the process is gone.
    while (!hasEnded) {
      work.kill('SIGTERM');
      await new Promise(setImmediate);
    }

    expect(await work.ended).toMatchObject({ signal: null });
  });

  it('ends even if a file of the project keeps something open', async () => {
    project.write({ 'onqueue.config.js': `setInterval(() => undefined, 1000);\n${CONFIG}` });

    const size = onqueue('size', '--json');

    expect(await size.ended).toEqual({ code: 0, signal: null });
    expect(size.stdout).toBe(
      '{"items":[{"queue":"default","ready":0,"delayed":0,"reserved":0,"failed":0,"paused":false}]}\n',
    );
  });

  it('shows where a configuration failed, ends with 1, and uses no other store', async () => {
    project.write({ 'onqueue.config.js': 'module.exports = {\n  connections: undefinedName,\n};' });

    const work = onqueue('work');

    expect(await work.ended).toEqual({ code: 1, signal: null });
    expect(work.stderr).toContain('undefinedName is not defined (E_CONFIG_FILE)');
    expect(work.stderr).toMatch(/onqueue\.config\.js:2/);
  });

  it('shows a line that cannot be parsed', async () => {
    project.write({ 'onqueue.config.js': 'module.exports = { connections: };' });

    const size = onqueue('size');

    expect(await size.ended).toMatchObject({ code: 1 });
    expect(size.stderr).toContain('module.exports = { connections: };');
  });

  it.each([
    [['work', '--require=nothing/*.js'], "nothing matches 'nothing/*.js'"],
    [['work', '--tires=3'], 'Did you mean --tries?'],
    [['lisen'], 'Did you mean listen?'],
  ])('refuses %j with 2', async (line, message) => {
    const refused = onqueue(...line);

    expect(await refused.ended).toEqual({ code: 2, signal: null });
    expect(refused.stderr).toContain(message);
    expect(refused.stdout).toBe('');
  });

  it('ends quietly if the reader of its output has gone', async () => {
    const script = `const { spawn } = require('node:child_process');
      const help = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(2)], { stdio: ['ignore', 'pipe', 'inherit'] });
      help.stdout.destroy();
      help.on('exit', (code, signal) => console.log(JSON.stringify({ code, signal })));`;
    project.write({ 'leave.js': script });
    const leaver = new ChildCommand(project.folder, ['leave.js', require.resolve('../../src/cli/bin.ts'), '--help']);
    children.push(leaver);

    await leaver.ended;

    expect(leaver.stdout).toBe('{"code":0,"signal":null}\n');
    expect(leaver.stderr).toBe('');
  });
});

describe('listen', () => {
  it('runs each job in a new process with the current code', async () => {
    await project.push('Greet', { name: 'Ada' });
    const listen = onqueue('listen', '--sleep=30s');
    await eventually(() => project.read('done.txt') === 'hello Ada\n');
    await listen.prints('Greet completed');

    // By now, the process that waits for the next job has loaded the old code or is about to.
    project.write({ 'jobs.js': JOBS.replace('hello', 'good day') });
    await project.push('Greet', { name: 'Grace' });
    await eventually(() => project.read('done.txt') === 'hello Ada\ngood day Grace\n');

    listen.kill('SIGINT');
    expect(await listen.ended).toEqual({ code: 0, signal: null });
    expect(listen.stderr.match(/The worker starts/g)).toHaveLength(1);
  });

  it('lets the running job finish when told to stop', async () => {
    await project.push('Wait');
    const listen = onqueue('listen');
    await eventually(() => project.read('done.txt').includes('waiting'));

    listen.kill('SIGTERM');
    project.write({ go: '' });

    expect(await listen.ended).toEqual({ code: 0, signal: null });
    expect(project.read('done.txt')).toContain('went');
  });

  it('leaves no orphan if it is killed', async () => {
    await project.push('Wait');
    const listen = onqueue('listen', `--grace=${meantToPass('200ms')}`);
    const pid = await pidOf('waiting');

    listen.kill('SIGKILL');

    await eventually(() => !isAlive(pid), { of: 'the end of the process of the job' });
    expect(project.read('done.txt')).not.toContain('went');
  });

  it('leaves no orphan if it is killed while the job blocks its process', async () => {
    await project.push('Block');
    const listen = onqueue('listen', '--grace=0');
    const pid = await pidOf('blocking');

    listen.kill('SIGKILL');

    await eventually(() => !isAlive(pid), { of: 'the end of the process of the job' });
  });

  it('kills a blocked process when told to stop a second time', async () => {
    await project.push('Block');
    const listen = onqueue('listen');
    const pid = await pidOf('blocking');

    listen.kill('SIGTERM');
    await eventually(() => {
      listen.kill('SIGTERM');
      return listen.stderr.includes('ending at once');
    });

    expect(await listen.ended).toEqual({ code: 143, signal: null });
    expect(isAlive(pid)).toBe(false);
  });

  it('waits until a file that cannot be loaded is fixed', async () => {
    project.write({ 'jobs.js': 'this is no JavaScript' });
    const listen = onqueue('listen');
    await listen.prints('E_CONFIG_FILE');

    project.write({ 'jobs.js': JOBS });
    await project.push('Greet', { name: 'Ada' });

    await eventually(() => project.read('done.txt') === 'hello Ada\n');
  });

  it('ends with 2 if its arguments are invalid', async () => {
    const listen = onqueue('listen', 'databse');

    expect(await listen.ended).toEqual({ code: 2, signal: null });
    expect(listen.stderr).toContain("Did you mean 'database'?");
  });
});
