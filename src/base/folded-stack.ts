/** The text of an error with the frames that are nobody's to mend folded: those of Node.js, of Onqueue and of installed packages. */
import { isOurFrame } from './exception-text';

/** Lines of an exception that belong together. */
export interface StackPiece {
  readonly text: string;
  /** How many frames of libraries these are. 0: they are shown. */
  readonly folded: number;
}

const FRAME = /^\s+at /;
const INSTALLED = /[\\/]node_modules[\\/]|[( ](?:node|bun|internal):/;

const isOfLibrary = (line: string): boolean => FRAME.test(line) && (INSTALLED.test(line) || isOurFrame(line));

/** Empty lines apart, the pieces are the whole text. An error without a frame of the program is shown as it is. */
export function stackPieces(exception: string): readonly StackPiece[] {
  const lines = exception.split('\n');
  if (!lines.some((line) => FRAME.test(line) && !isOfLibrary(line))) return [{ text: exception, folded: 0 }];
  const pieces: { lines: string[]; isOfLibrary: boolean }[] = [];
  for (const line of lines) {
    const last = pieces.at(-1);
    const is = isOfLibrary(line);
    if (last?.isOfLibrary === is) last.lines.push(line);
    else pieces.push({ lines: [line], isOfLibrary: is });
  }
  return pieces.map((piece) => ({ text: piece.lines.join('\n'), folded: piece.isOfLibrary ? piece.lines.length : 0 }));
}

/** For a terminal: `    … 12 frames of libraries`. */
export function foldedStack(exception: string): string {
  return stackPieces(exception)
    .map(({ text, folded }) => (folded === 0 ? text : foldedText(folded)))
    .join('\n');
}

export const foldedText = (frames: number): string =>
  `    … ${frames} ${frames === 1 ? 'frame' : 'frames'} of libraries`;
