import { join } from 'node:path';
import { Project, root } from '../support/project';

const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

/** Each file breaks the rule in its line. */
const BREACHES = [
  ['src/job/a.ts', `import '../worker/worker';`, 'job-knows-only-what-is-below'],
  [
    'src/application/a.ts',
    `import type { A } from '../worker/worker'; export type B = A;`,
    'application-knows-only-what-is-below',
  ],
  ['src/container/a.ts', `import type { A } from '../job/b'; export type B = A;`, 'container-knows-only-what-is-below'],
  [
    'src/connections/a.ts',
    `import type { A } from '../dispatch/b'; export type B = A;`,
    'contract-knows-only-what-is-below',
  ],
  ['src/connections/kit/a.ts', `import '../memory/store';`, 'kit-knows-only-what-is-below'],
  [
    'src/dispatch/c.ts',
    `import type { A } from '../application/e'; export type B = A;`,
    'dispatch-knows-only-what-is-below',
  ],
  ['src/connections/redis/a.ts', `import '../memory/store';`, 'drivers-do-not-know-each-other'],
  ['src/worker/a.ts', `import '../connections/memory/store';`, 'worker-knows-only-what-is-below'],
  ['src/connections/memory/a.ts', `import '../../worker/worker';`, 'no-driver-runs-jobs'],
  ['src/dispatch/a.ts', `import 'ioredis';`, 'ioredis-only-in-connections-redis'],
  ['src/application/b.ts', `import 'tsyringe';`, 'tsyringe-only-in-container'],
  ['src/application/c.ts', `import 'class-transformer';`, 'class-transformer-only-in-payload'],
  ['src/application/d.ts', `import '../index';`, 'nobody-imports-the-public-surface'],
  ['src/base/a.ts', `import './missing';`, 'no-unresolved'],
] as const;

describe('the import rules', () => {
  const project = new Project({ dependencies: { ioredis: '*', tsyringe: '*', 'class-transformer': '*' } });
  afterAll(() => project.remove());

  it('report each broken rule and its reason', async () => {
    project.linkDependencies();
    for (const path of [
      'src/worker/worker.ts',
      'src/connections/memory/store.ts',
      'src/index.ts',
      'src/job/b.ts',
      'src/dispatch/b.ts',
      'src/application/e.ts',
    ]) {
      project.write(path, 'export type A = string;');
    }
    for (const [path, text] of BREACHES) project.write(path, text);
    const { stdout } = await project.run([
      program,
      '--config',
      join(root, '.dependency-cruiser.cjs'),
      '--output-type',
      'err-long',
      'src',
    ]);
    const found = [...stdout.matchAll(/^ +error ([\w-]+): (\S+)/gm)].map(([, rule, path]) => `${path} ${rule}`);
    expect(found.toSorted()).toEqual(BREACHES.map(([path, , rule]) => `${path} ${rule}`).toSorted());
    expect(stdout).toContain('tsyringe is imported in src/container alone');
  });
});
