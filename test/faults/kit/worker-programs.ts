/** The programs of worker processes, compiled into the folder of a project. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';

const PROGRAMS = ['worker', 'jobs', 'pen'];
const swc = require('../../support/swc.cjs') as object;

export function writeWorkerPrograms(folder: string): void {
  for (const name of PROGRAMS) {
    const filename = join(__dirname, 'programs', `${name}.ts`);
    const { code } = transformSync(readFileSync(filename, 'utf8'), { ...swc, filename });
    writeFileSync(join(folder, `${name}.js`), code);
  }
}
