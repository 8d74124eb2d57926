/** What `--require` names: files of jobs, patterns of files, or packages to load first. */
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { loadTypeScript } from '../application/configuration/typescript-loader';
import { nothingMatched, requiredFileFailed } from './errors';
import { filesMatching } from './glob';

/**
 * Loads all files that the patterns name, in order.
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
      ? `It is a folder; name its files: "${join(pattern, '**', '*.js')}" (in quotes).`
      : 'Name a file, or a pattern such as "dist/jobs/**/*.js" (in quotes; wildcards are *, ** and ?). Without these files the worker would not know its jobs.',
  );
}

// `--require dotenv/config`, as for Node.js itself.
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
