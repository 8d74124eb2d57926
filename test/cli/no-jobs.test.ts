/** In a process without registered jobs, because other command tests register some. */
import { CommandKit } from './kit/command-kit';

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit();
});

afterEach(() => kit.close());

it('a worker without jobs does not start, and says where jobs come from', async () => {
  await kit.push('default', 'Unknown');

  const { stdout, stderr, code } = await kit.work('--stop-when-empty');

  expect(stderr).toContain('The worker knows no jobs, so it does not start (configuration: ');
  expect(stderr).toContain("Import the files of your jobs in onqueue.config.*, or pass --require 'dist/jobs/**/*.js'.");
  expect(stderr).toContain('onqueue.config.js');
  expect(stderr).toContain('(E_NO_JOBS)');
  expect({ stdout, code }).toEqual({ stdout: '', code: 1 });
  expect(await kit.store.queues.counts('default')).toMatchObject({ ready: 1, delayed: 0 });
});

it('check says once that nothing is registered, and not again for each queue', async () => {
  await kit.push('default', 'Unknown');

  const { stdout } = await kit.run('check');

  expect(stdout).toContain('No job is registered.');
  expect(stdout).not.toContain('Unknown');
});

it('other commands need no jobs', async () => {
  expect((await kit.run('size')).code).toBe(0);
  expect((await kit.run('classes')).stderr).toContain('No job is registered.');
});
