/** The programs in docs/dashboard.md, compiled, run and asked for a page exactly as they are. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import { Project, requireBuild, root } from '../support/project';

/** A file shown on the page: a block whose first line names it. */
const FILE = /^```(?:ts framework|js)\n\/\/ (src\/[\w-]+\.(?:ts|cjs))\n([\s\S]*?)^```$/gm;
/** The users of the reader's application. */
const USERS = `
const ada = { email: 'ada@example.org', isAdmin: true };
export const userOf = async (cookie: string | undefined) => (cookie === 'session=ada' ? ada : undefined);`;
const PACKAGES = ['express', '@types/express', 'fastify', 'hono', '@hono', '@nestjs', 'rxjs', '@types/node'];
const COMPILER_OPTIONS = {
  target: 'es2022',
  module: 'nodenext',
  strict: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  skipLibCheck: true,
  allowJs: true,
  types: ['node'],
  rootDir: 'src',
  outDir: 'dist',
};

const page = readFileSync(join(root, 'docs/dashboard.md'), 'utf8');
const files = [...page.matchAll(FILE)].map(([, name = '', code = '']) => ({ name, code }));
const programs = files.map(({ name }) => name).filter((name) => name !== 'src/access.ts');

let project: Project;
const running: ChildProcess[] = [];
beforeAll(() => {
  requireBuild();
  project = new Project({ type: 'module' });
  project.linkPackage();
  for (const name of PACKAGES) project.link(name);
  for (const { name, code } of files) project.write(name, code);
  project.write('src/users.ts', USERS);
  project.write('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ['src'] }));
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

async function started(program: string): Promise<string> {
  const port = await freePort();
  const file = program.replace('src/', 'dist/').replace(/ts$/, 'js');
  const env = { PATH: process.env['PATH'], PORT: String(port) };
  running.push(spawn(process.execPath, [file], { cwd: project.folder, env, stdio: 'ignore' }));
  const address = `http://localhost:${port}/jobs`;
  await eventually(() => fetch(address).then(Boolean, () => false), { of: `${program} answers` });
  return address;
}

describe('the programs of docs/dashboard.md', () => {
  it('compile', async () => {
    const compiled = await project.run([join(root, 'node_modules/typescript/bin/tsc'), '-p', '.']);
    expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('include one for each framework', () => {
    const names = ['express.cjs', 'express.ts', 'fastify.ts', 'hono.ts', 'http.ts', 'nest.ts'];
    expect(programs.toSorted()).toEqual(names.map((name) => `src/${name}`));
  });

  const inTypeScript = programs.filter((name) => name.endsWith('.ts'));
  it.each(inTypeScript)(
    '%s shows the dashboard to a signed-in user, lets them act, and lets nobody else in',
    async (name) => {
      const address = await started(name);
      const headers = { cookie: 'session=ada', 'sec-fetch-site': 'same-origin' };

      const shown = await fetch(address, { headers });
      const acted = await fetch(`${address}/pause-queue`, {
        method: 'POST',
        redirect: 'manual',
        headers,
        body: new URLSearchParams({ connection: 'database', queue: 'mail' }),
      });

      expect([shown.status, await shown.text()]).toEqual([200, expect.stringContaining('<h1>Overview</h1>')]);
      expect([acted.status, acted.headers.get('set-cookie')]).toEqual([
        303,
        expect.stringMatching(/mail%20(is|was%20already)%20paused/),
      ]);
      expect((await fetch(address)).status).toBe(403);
    },
  );

  it('let nobody in without the sign-in of the application, in JavaScript', async () => {
    expect((await fetch(await started('src/express.cjs'))).status).toBe(403);
  });
});
