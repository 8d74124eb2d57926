/** What our code runs in: from the sources or built, and under a test runner or not. */
import { join } from 'node:path';

/** If this file runs from the sources, uses the modules built from them. */
const FOLDER = __filename.endsWith('.ts') ? join(__dirname, '..', '..', 'dist') : join(__dirname, '..');

/**
 * One of our own modules, for another thread, which knows neither a bundler's modules nor a test runner's compiler.
 *
 * @param name its path below `src`, without extension. The file may be missing: a bundled application may be one file.
 */
export function threadModule(name: string): string {
  return join(FOLDER, `${name}.js`);
}

/** Jest has its own `require`, and prints nothing that a test does not ask for. */
export const isUnderJest = (): boolean => process.env['JEST_WORKER_ID'] !== undefined;
