/** Finds files by a pattern with `*`, `**` and `?`: Node.js 20 has no matcher of its own. */
import { readdirSync, statSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';

const LOADABLE = /(?<!\.d)\.[cm]?[jt]s$/;

/**
 * The files that `pattern` names, sorted; a pattern without wildcards names itself.
 *
 * Wildcards match only scripts (a folder of compiled files also contains maps and declarations), never enter `node_modules`, and
 * enter folders that begin with a dot only if the pattern says so.
 */
export function filesMatching(pattern: string, folder: string): string[] {
  const path = resolve(folder, pattern);
  if (!/[*?]/.test(pattern)) return isFile(path) ? [path] : [];
  const parts = path.split(sep);
  const wild = parts.findIndex((part) => /[*?]/.test(part));
  return [...new Set(walk(parts.slice(0, wild).join(sep) || sep, parts.slice(wild)))].toSorted();
}

function walk(folder: string, parts: readonly string[]): string[] {
  const [part = '', ...rest] = parts;
  const names = entriesOf(folder);
  if (part === '**') {
    const below = names.flatMap((name) => (isPassedOver(name) ? [] : walk(join(folder, name), parts)));
    return [...walk(folder, rest.length === 0 ? ['*'] : rest), ...below];
  }
  const matcher = matcherOf(part);
  return names
    .filter((name) => matcher.test(name))
    .flatMap((name) => {
      const path = join(folder, name);
      if (rest.length === 0) return LOADABLE.test(name) && isFile(path) ? [path] : [];
      return name === part || !isPassedOver(name) ? walk(path, rest) : [];
    });
}

function matcherOf(part: string): RegExp {
  const source = part
    .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  // A leading wildcard does not match the dot of a hidden file.
  return new RegExp(`^${/^[*?]/.test(part) ? String.raw`(?!\.)` : ''}${source}$`, 'su');
}

function isPassedOver(folder: string): boolean {
  return folder === 'node_modules' || folder.startsWith('.');
}

/** Empty for anything but a folder. */
function entriesOf(folder: string): string[] {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(folder) : [];
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
