/** The programs in docs/web-applications.md, compiled, run and asked exactly as they are, beside a worker. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import { Project, requireBuild, root } from '../support/project';

/** A file shown on the page: a block whose first line names it. */
const FILE = /^```ts framework\n\/\/ (src\/[\w-]+\.ts)\n([\s\S]*?)^```$/gm;
/** The users of the reader's application. */
const USERS = `
const ada = { email: 'ada@example.org', isAdmin: true };
export const userOf = async (cookie: string | undefined) => (cookie === 'session=ada' ? ada : undefined);`;
const PACKAGES = ['express', '@types/express', 'fastify', '@types/node'];
const COMPILER_OPTIONS = {
  target: 'es2022',
  module: 'nodenext',
  strict: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  skipLibCheck: true,
  types: ['node'],
  rootDir: 'src',
  outDir: 'dist',
};

let project: Project;
const running: ChildProcess[] = [];
const start = (file: string, env: Readonly<Record<string, string>> = {}): ChildProcess => {
  const child = spawn(process.execPath, [file], {
    cwd: project.folder,
    env: { PATH: process.env['PATH'], ...env },
    stdio: 'ignore',
  });
  running.push(child);
  return child;
};

beforeAll(async () => {
  requireBuild();
  project = new Project({ type: 'module' });
  project.linkPackage();
  for (const name of PACKAGES) project.link(name);
  const page = readFileSync(join(root, 'docs/web-applications.md'), 'utf8');
  for (const [, name = '', code = ''] of page.matchAll(FILE)) project.write(name, code);
  project.write('src/users.ts', USERS);
  project.write('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ['src'] }));
  const compiled = await project.run([join(root, 'node_modules/typescript/bin/tsc'), '-p', '.']);
  expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' });
  start('dist/worker.js');
});
afterAll(async () => {
  for (const child of running) if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'close');
  project.remove();
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

it.each(['express', 'fastify'])(
  'the program on %s sends a job, and tells how it is by asking, waiting and events',
  async (name) => {
    const port = await freePort();
    const program = start(`dist/${name}.js`, { PORT: String(port) });
    const address = `http://localhost:${port}`;
    await eventually(() => fetch(address).then(Boolean, () => false), { of: `${name} answers` });
    const send = async (order: string): Promise<string> => {
      const answer = await fetch(`${address}/orders/${order}/invoice`, { method: 'POST' });
      expect(answer.status).toBe(202);
      return ((await answer.json()) as { job: string }).job;
    };
    const get = async (path: string): Promise<readonly [number, unknown]> => {
      const answer = await fetch(`${address}/jobs/${path}`);
      const text = await answer.text();
      return [answer.status, text === '' ? undefined : JSON.parse(text)];
    };
    const streamed = async (id: string): Promise<string> => (await fetch(`${address}/jobs/${id}/events`)).text();

    const job = await send('7');
    const events = await streamed(job);
    const again = await streamed(job);
    const [status, found] = await get(job);
    const waited = await get(`${await send('8')}/result`);
    const failed = await send('none');
    const failure = await streamed(failed);

    expect(events).toMatch(/event: completed\ndata: \{"at":"[^"]+"\}\n\n$/);
    expect(again).toMatch(/^event: completed\n/);
    expect([status, found]).toEqual([200, expect.objectContaining({ id: job, state: 'completed' })]);
    expect(waited).toEqual([200, { file: 'invoices/8.pdf' }]);
    expect(failure).toMatch(/event: failed\n[^\n]*\n\n$/);
    expect(failure).not.toContain('no such order');
    expect(await get(`${failed}/result`)).toEqual([422, { error: 'E_JOB_FAILED' }]);
    expect((await get('nobody'))[0]).toBe(404);
    expect((await fetch(`${address}/admin/jobs`)).status).toBe(403);
    expect((await fetch(`${address}/admin/jobs`, { headers: { cookie: 'session=ada' } })).status).toBe(200);

    const open = fetch(`${address}/jobs/nobody/events`);
    await open;
    program.kill('SIGTERM');
    expect(await (await open).text()).toBe('');
    if (program.exitCode === null) await once(program, 'exit');
    expect(program.exitCode).toBe(0);
  },
);
