/** Finds our own modules for other threads, which know neither a bundler's modules nor a test runner's compiler. */
import { join } from 'node:path';

/** Where this runs from its sources, what was built from them is meant. */
const FOLDER = __filename.endsWith('.ts') ? join(__dirname, '..', '..', 'dist') : join(__dirname, '..');

/** @param name its path below `src`, without an ending. The file need not be there: an application may be one file. */
export function threadModule(name: string): string {
  return join(FOLDER, `${name}.js`);
}
