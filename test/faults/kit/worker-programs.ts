/** The programs of worker processes, compiled into the folder of a project. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';

const PROGRAMS = ['worker', 'jobs', 'pen'];
const { transform } = require('../../../jest.config.js') as { transform: Record<string, [string, object]> };

export function writeWorkerPrograms(folder: string): void {
  for (const name of PROGRAMS) {
    const filename = join(__dirname, 'programs', `${name}.ts`);
    const { code } = transformSync(readFileSync(filename, 'utf8'), { ...transform['^.+\\.ts$']![1], filename });
    writeFileSync(join(folder, `${name}.js`), code);
  }
}
