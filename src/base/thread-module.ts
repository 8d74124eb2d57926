/** Finds our own modules for other threads, which know neither a bundler's modules nor a test runner's compiler. */
import { join } from 'node:path';

/** If this file runs from the sources, uses the modules built from them. */
const FOLDER = __filename.endsWith('.ts') ? join(__dirname, '..', '..', 'dist') : join(__dirname, '..');

/** @param name its path below `src`, without extension. The file may be missing: a bundled application may be one file. */
export function threadModule(name: string): string {
  return join(FOLDER, `${name}.js`);
}
