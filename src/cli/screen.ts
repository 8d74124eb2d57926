/** The whole screen of a terminal, redrawn in place. Its previous content comes back at the end. */
import type { OutputStream } from './output';
import { cut } from './table';

const ENTER = '\u001B[?1049h\u001B[?25l';
const LEAVE = '\u001B[?25h\u001B[?1049l';
const HOME = '\u001B[H';
const REST_OF_LINE = '\u001B[K';
const REST_OF_SCREEN = '\u001B[J';

/** The size of a terminal that does not report it. */
const USUAL = { columns: 80, rows: 24 };

export class Screen {
  readonly #stream: OutputStream;

  constructor(stream: OutputStream) {
    this.#stream = stream;
    stream.write(ENTER);
  }

  get columns(): number {
    return this.#stream.columns ?? USUAL.columns;
  }

  get rows(): number {
    return this.#stream.rows ?? USUAL.rows;
  }

  /** Cuts lines that are too long, and omits lines that do not fit. */
  draw(lines: readonly string[]): void {
    // A terminal would begin a new line at the last column.
    const shown = lines.slice(0, this.rows).map((line) => cut(line, this.columns - 1) + REST_OF_LINE);
    this.#stream.write(HOME + shown.join('\r\n') + REST_OF_SCREEN);
  }

  close(): void {
    this.#stream.write(LEAVE);
  }
}
