/** Which versions of this package and of its peer dependencies a project has, and whether it has several copies. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export interface InstalledPackage {
  readonly version: string;
  readonly folder: string;
}

/** This package. */
export function ownPackage(): InstalledPackage {
  const found = packageAbove(__dirname, undefined);
  if (found === undefined) throw new Error(`There is no package.json above ${__dirname}.`);
  return found;
}

/** The packages that are also installed in production. */
export function dependenciesOf(folder: string): readonly string[] {
  const file = join(folder, 'package.json');
  const found = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { readonly dependencies?: object }) : {};
  return Object.keys(found.dependencies ?? {});
}

/** The package that a file in `folder` would import. */
export function installedPackage(name: string, folder: string): InstalledPackage | undefined {
  try {
    // We cannot resolve its package.json by name: `exports` may hide it.
    return packageAbove(dirname(createRequire(join(folder, 'package.json')).resolve(name)), name);
  } catch {
    return undefined;
  }
}

function packageAbove(start: string, name: string | undefined): InstalledPackage | undefined {
  for (let folder = start; dirname(folder) !== folder; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (!existsSync(file)) continue;
    const found = JSON.parse(readFileSync(file, 'utf8')) as { readonly name?: string; readonly version?: string };
    // Packages put further package.json files without a version into their folders of ES modules.
    if (found.version !== undefined && (name === undefined || found.name === name)) {
      return { version: found.version, folder: realpathSync(folder) };
    }
  }
  return undefined;
}
