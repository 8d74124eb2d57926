/**
 * Reads the Lua scripts from their folder. The build replaces this module with one that holds their texts: a bundled
 * application has no `lua` folder beside it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(__dirname, '..', '..', '..', 'lua');

/** @param name the name of a script or of a part: `parts/base` */
export function scriptText(name: string): string {
  return readFileSync(join(FOLDER, `${name}.lua`), 'utf8');
}
