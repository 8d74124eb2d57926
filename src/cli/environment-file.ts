/** The `.env` file of a project: a command adds its variables to the environment before it loads anything else. */
import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { projectFolder } from '../application/configuration/config-file';
import { errorMessage } from '../base/exception-text';
import { invalidOption, nothingMatched } from './errors';
import type { Surroundings } from './session';

const FLAG = '--env-file';

/**
 * Variables that are set already stay as they are: whoever starts the process knows better than a file. Processes that this one
 * starts inherit them.
 *
 * @param given what `--env-file` names; false: none; undefined: `.env` beside package.json, if there is one
 * @throws E_NOTHING_MATCHED, E_INVALID_OPTION
 */
export function readEnvironmentFile(
  given: string | false | undefined,
  { folder, environment }: Pick<Surroundings, 'folder' | 'environment'>,
): void {
  if (given === false) return;
  const file = given === undefined ? join(projectFolder(folder), '.env') : resolve(folder, given);
  const found = statSync(file, { throwIfNoEntry: false });
  // A folder `.env` is one of Python.
  if (given === undefined && found?.isFile() !== true) return;
  if (found === undefined) throw nothingMatched(FLAG, given!, folder, 'Name a file with lines such as REDIS_URL=….');
  for (const [name, value] of Object.entries(parseEnv(textOf(file)))) environment[name] ??= value;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw invalidOption(
      FLAG,
      file,
      `It cannot be read: ${errorMessage(error)}. Name another file, or pass --no-env-file.`,
    );
  }
}
