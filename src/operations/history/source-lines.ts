/** The source lines around the place where an error was thrown: the first frame of the program's own code. */
import { readFile, stat } from 'node:fs/promises';
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Recent } from '../../base/recent';
import type { SourceLines } from './attempt';

export type SourcePlace = Pick<SourceLines, 'file' | 'line'>;

/** Lines before and after. */
const AROUND = 3;
const LONGEST_LINE = 200;
/** In bytes. Larger files are bundles, whose lines say nothing. */
const LARGEST_FILE = 1024 * 1024;
const MOST_PLACES = 1000;
/** Frames that are examined. */
const MOST_FRAMES = 50;
const LONGEST_FRAME = 1000;

const FRAME = /^\s+at (?:.* \()?(?<file>(?:file:\/\/|\/|[A-Za-z]:[\\/]).*?):(?<line>\d+):\d+\)?$/;
const INSTALLED = /[\\/]node_modules[\\/]/;
const OURS = `${dirname(dirname(__dirname))}${sep}`;
/** A message that imitates a frame must not make us read other kinds of files. */
const SOURCE_FILE = /\.[cm]?[jt]sx?$/;

/** Undefined if no frame is the program's own. Never throws. */
export function placeOfError(error: Error): SourcePlace | undefined {
  try {
    const { stack, message }: { readonly stack?: unknown; readonly message: unknown } = error;
    if (typeof stack !== 'string' || typeof message !== 'string') return undefined;
    // The message may look like a stack.
    const at = stack.indexOf(message);
    const frames = (at < 0 ? stack : stack.slice(at + message.length)).split('\n', MOST_FRAMES);
    for (const frame of frames) {
      const { file, line } = FRAME.exec(frame.slice(0, LONGEST_FRAME))?.groups ?? {};
      if (file === undefined) continue;
      const path = file.startsWith('file:') ? fileURLToPath(file) : file;
      if (SOURCE_FILE.test(path) && !INSTALLED.test(path) && !path.startsWith(OURS))
        return { file: path, line: Number(line) };
    }
    return undefined;
  } catch {
    return undefined;
  }
}

export class SourceReader {
  readonly #read = new Recent<string, Promise<SourceLines | undefined>>(MOST_PLACES);

  /** Reads each place once. Undefined if it cannot be read. Never rejects. */
  linesAt(place: SourcePlace): Promise<SourceLines | undefined> {
    return this.#read.ensure(`${place.file}:${place.line}`, () => read(place).catch(() => undefined));
  }
}

async function read({ file, line }: SourcePlace): Promise<SourceLines | undefined> {
  const found = await stat(file);
  // Anything but a file may block its reader.
  if (!found.isFile() || found.size > LARGEST_FILE) return undefined;
  const all = (await readFile(file, 'utf8')).split('\n');
  // Another version of the file, or a message that looked like a frame.
  if (line < 1 || line > all.length) return undefined;
  const from = Math.max(1, line - AROUND);
  const lines = all.slice(from - 1, line + AROUND).map((text) => text.slice(0, LONGEST_LINE).trimEnd());
  return { file, line, from, lines };
}
