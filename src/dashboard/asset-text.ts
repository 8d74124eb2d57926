/**
 * Reads what is sent to browsers from its folder. The build puts a module that holds it in the place of this one: a bundled
 * application has no folder beside it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export function assetText(name: string): string {
  return readFileSync(join(__dirname, 'assets', name), 'utf8');
}
