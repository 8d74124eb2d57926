/**
 * Reads the texts of the Lua scripts from their folder. The build puts a module that holds them in the place of this one:
 * a bundled application has no folder `lua` beside it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(__dirname, '..', '..', '..', 'lua');

/** @param name of a script, or of a part: `parts/base` */
export function scriptText(name: string): string {
  return readFileSync(join(FOLDER, `${name}.lua`), 'utf8');
}
