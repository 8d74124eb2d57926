/** The files that a page of the documentation shows: blocks of code whose first line names the file, as `// src/jobs.ts`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const BLOCK = /^```\w+[^\n]*\n(?:\/\/|#) ([\w./@[\]-]+\.\w+)\n([\s\S]*?)^```$/gm;

/**
 * Writes the files of a page of the installed package, as the page has them; gives their names.
 *
 * @param heading of the only section that counts; default: the whole page
 */
export function writeFilesOf(page, heading) {
  const whole = readFileSync(`node_modules/onqueue/docs/${page}`, 'utf8');
  const text = heading === undefined ? whole : whole.split(/^## /m).find((section) => section.startsWith(heading));
  const files = [...text.matchAll(BLOCK)].map(([, name, code]) => ({ name, code }));
  if (files.length === 0) throw new Error(`${page} shows no file`);
  for (const { name, code } of files) {
    mkdirSync(dirname(name), { recursive: true });
    writeFileSync(name, code);
  }
  return files.map(({ name }) => name);
}
