/** The names of all commands, as their files in `src/cli/commands` declare them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(__dirname, '../../../src/cli/commands');

export const COMMAND_NAMES: readonly string[] = readdirSync(FOLDER).flatMap((file) =>
  [...readFileSync(join(FOLDER, file), 'utf8').matchAll(/define(?:Command|List)\({\n {2}name: '([\w:]+)'/g)].map(
    ([, name]) => name!,
  ),
);
