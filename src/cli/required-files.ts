/** What `--require` names: files of jobs, patterns of them, or packages to load before. */
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { loadTypeScript } from '../application/configuration/typescript-loader';
import { nothingMatched, requiredFileFailed } from './errors';
import { filesMatching } from './glob';

/**
 * Loads all that the patterns name, in order.
 *
 * @throws E_NOTHING_MATCHED, E_REQUIRED_FILE, E_TYPESCRIPT_LOADER
 */
export function requireAll(patterns: readonly string[], folder: string): void {
  for (const file of patterns.flatMap((pattern) => filesOf(pattern, folder))) load(file);
}

function filesOf(pattern: string, folder: string): readonly string[] {
  const files = filesMatching(pattern, folder);
  if (files.length > 0) return files;
  const found = packageFile(pattern, folder);
  if (found !== undefined) return [found];
  const isFolder = statSync(resolve(folder, pattern), { throwIfNoEntry: false })?.isDirectory() === true;
  throw nothingMatched(
    '--require',
    pattern,
    folder,
    isFolder
      ? `It is a folder; name the files in it: "${join(pattern, '**', '*.js')}" (in quotes).`
      : 'Name a file, or a pattern such as "dist/jobs/**/*.js" (in quotes; it knows *, ** and ?). A worker without its jobs could run none of them.',
  );
}

// `--require dotenv/config`, as Node.js itself takes it.
function packageFile(name: string, folder: string): string | undefined {
  if (/^[./]|[*?]/.test(name)) return undefined;
  try {
    return createRequire(join(folder, 'package.json')).resolve(name);
  } catch {
    return undefined;
  }
}

function load(file: string): void {
  if (/\.[cm]?ts$/.test(file)) loadTypeScript(file);
  try {
    require(file);
  } catch (cause) {
    throw requiredFileFailed(file, cause);
  }
}
