import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { Project, root } from '../support/project';

const script = join(root, 'scripts/set-up-servers.mjs');

describe('the set-up script for test servers', () => {
  const projects: Project[] = [];
  afterAll(() => {
    for (const project of projects) project.remove();
  });

  /** Runs the script with fake servers first on the path, which report these versions. */
  const setUpWith = (redis: string) => {
    const project = new Project();
    projects.push(project);
    const answers = {
      'redis-server': `Redis server v=${redis} sha=0 bits=64`,
      postgres: 'postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)',
      mariadbd: 'mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64',
      beanstalkd: 'beanstalkd 1.12',
      faketime: 'faketime: Version 0.9.10',
      php: 'PHP 8.2.36',
      // The name on Fedora.
      'chromium-browser': 'Chromium 150.0.7871.100 built on Debian GNU/Linux 12 (bookworm)',
    };
    for (const [command, answer] of Object.entries(answers)) {
      project.write(command, `#!/bin/sh\necho "${answer}"\n`);
      chmodSync(join(project.folder, command), 0o755);
    }
    return project.run([script, '--no-install'], { PATH: project.folder });
  };

  it('finds installed servers', async () => {
    const { code, stdout } = await setUpWith('7.0.15');
    expect(code).toBe(0);
    expect(stdout).toMatch(/Redis is there \(.*redis-server\)/);
    expect(stdout).toMatch(/PostgreSQL is there \(.*postgres\)/);
    expect(stdout).toMatch(/MariaDB is there \(.*mariadbd\)/);
    expect(stdout).toMatch(/Beanstalkd is there \(.*beanstalkd\)/);
    expect(stdout).toMatch(/libfaketime is there \(.*faketime\)/);
    expect(stdout).toMatch(/PHP with Laravel's queue is there \(.*php\)/);
    expect(stdout).toMatch(/Chromium is there \(.*chromium-browser\)/);
  });

  it('says in one sentence what to install if a server is too old', async () => {
    const { code, stderr } = await setUpWith('6.0.16');
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(
        /is version 6\.0, and the tests need 6\.2 or newer\. Install Redis .*apt-get install redis-server.*brew/,
      ),
    ]);
  });
});
