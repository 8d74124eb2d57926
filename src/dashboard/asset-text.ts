/**
 * Reads files for browsers from their folder. The build replaces this module by one that contains the files, because a bundled
 * application has no such folder.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export function assetText(name: string): string {
  return readFileSync(join(__dirname, 'assets', name), 'utf8');
}
