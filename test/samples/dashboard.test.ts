import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import { Project, requireBuild, root } from '../support/project';

describe('the sample image-pipeline', () => {
  const project = new Project();
  let child: ChildProcess | undefined;

  beforeAll(() => {
    requireBuild();
    project.linkPackage();
    project.copy(join(root, 'build/samples'), 'samples');
  });
  afterAll(() => {
    child?.kill('SIGKILL');
    project.remove();
  });

  it('shows its jobs in a local browser until it is stopped, and ends cleanly', async () => {
    const { REDIS_URL: _redis, ...env } = process.env;
    const sample = spawn(process.execPath, [join('samples/image-pipeline/main.js'), 'dashboard'], {
      cwd: project.folder,
      env: { ...env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child = sample;
    let printed = '';
    sample.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    const seen = (pattern: RegExp) => eventually(() => pattern.exec(printed)?.[0], { of: String(pattern) });
    const address = String(await seen(/http:\S+/));
    await seen(/300 pictures, .*/);

    const shown = await fetch(`${address}batches`);
    const fromElsewhere = await fetch(address.replace('localhost', '127.0.0.1'));
    sample.kill('SIGINT');
    const [code] = (await once(sample, 'close')) as [number | null];

    expect([shown.status, await shown.text()]).toEqual([200, expect.stringContaining('<bdi>pictures</bdi>')]);
    expect(fromElsewhere.status).toBe(403);
    expect(code).toBe(0);
  });
});
