import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { Project, root } from '../support/project';

const script = join(root, 'scripts/set-up-servers.mjs');

describe('the set-up of the servers that tests need', () => {
  const projects: Project[] = [];
  afterAll(() => {
    for (const project of projects) project.remove();
  });

  /** Runs it where the only `redis-server` is one that says it has this version. */
  const setUpWith = (version: string) => {
    const project = new Project();
    projects.push(project);
    project.write('redis-server', `#!/bin/sh\necho "Redis server v=${version} sha=0 bits=64"\n`);
    chmodSync(join(project.folder, 'redis-server'), 0o755);
    return project.run([script, '--no-install'], { PATH: project.folder });
  };

  it('finds what is there', async () => {
    const { code, stdout } = await setUpWith('7.0.15');
    expect(code).toBe(0);
    expect(stdout).toMatch(/Redis is there \(.*redis-server\)/);
  });

  it('says in one sentence what to install where a server is too old', async () => {
    const { code, stderr } = await setUpWith('6.0.16');
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(
        /is version 6\.0, and the tests need 6\.2 or newer\. Install Redis .*apt-get install redis-server.*brew/,
      ),
    ]);
  });
});
