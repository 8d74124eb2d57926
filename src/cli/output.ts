/** Everything that a command prints: results to standard output, the rest to standard error, progress to a terminal alone. */
import { oneLine } from '../base/plain-text';
import { type Cell, formatTable, roomForLast, visibleWidth } from './table';

/** What is needed of `process.stdout` and `process.stderr`. */
export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  write(text: string): unknown;
}

/** Fewer characters of a message than this say nothing. */
const READABLE = 60;

/** Of a terminal that does not say how wide it is. */
const USUAL_WIDTH = 80;

const CLEAR_LINE = '\r\u001B[K';

export class Output {
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  /** A line stands on the terminal that is to be written anew. */
  #hasOpenLine = false;
  /** The command was asked for one JSON document: `result` prints, and `line`, `table` and `list` do not. */
  isJson = false;

  constructor(stdout: OutputStream, stderr: OutputStream) {
    this.#stdout = stdout;
    this.#stderr = stderr;
  }

  get #width(): number | undefined {
    return this.#stdout.isTTY === true ? this.#stdout.columns : undefined;
  }

  line(text: string): void {
    if (this.isJson) return;
    this.renew('');
    this.#stdout.write(`${text}\n`);
  }

  /**
   * The whole of what a command has found or done: these lines for people; with `--json` the value, which is laid out on a
   * terminal and stands on one line elsewhere.
   */
  result(value: unknown, ...lines: readonly string[]): void {
    for (const line of lines) this.line(line);
    if (!this.isJson) return;
    const text = JSON.stringify(value, undefined, this.#stdout.isTTY === true ? 2 : undefined);
    // JSON lets these pass, and some terminals take them for the beginning of a command.
    const escaped = text.replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
    this.#stdout.write(`${escaped}\n`);
  }

  table(headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
    this.line(formatTable(headings, rows, { width: this.#width }));
  }

  /**
   * Rows that are read for their last cell: a table where it has room, otherwise several lines for each row.
   *
   * @param readable columns that the last cell needs, where it is as long; Infinity: nothing of it is to be cut
   */
  list(headings: readonly string[], rows: readonly (readonly Cell[])[], readable = READABLE): void {
    const longest = Math.max(...rows.map((row) => visibleWidth(oneLine(String(row.at(-1) ?? '')))));
    const room = roomForLast(headings, rows, { width: this.#width });
    if (room >= Math.min(readable, longest)) return this.table(headings, rows);
    for (const row of rows) {
      const [first, ...others] = row.map((cell, column) => {
        const text = oneLine(String(cell ?? ''));
        return column > 0 && typeof cell === 'number' ? `${headings[column]} ${text}` : text;
      });
      const last = others.pop() ?? '';
      const lines = [others.filter((fact) => fact !== '').join(', '), last].filter((text) => text !== '');
      this.line([first, ...lines].join('\n  '));
    }
  }

  /** Writes what is not a result: a warning, an error, what was not found. */
  note(text: string): void {
    this.log.write(`${text}\n`);
  }

  /** Standard error, where it takes lines away first that are to be written anew. */
  get log(): OutputStream {
    const { isTTY, columns } = this.#stderr;
    const write = (text: string): unknown => {
      this.renew('');
      return this.#stderr.write(text);
    };
    return { isTTY, columns, write };
  }

  /** Columns of a line that is written anew, by `renew`; undefined: there is no terminal. */
  get room(): number | undefined {
    return this.#stderr.isTTY === true ? (this.#stderr.columns ?? USUAL_WIDTH) : undefined;
  }

  /** Writes the same line of a terminal again, and elsewhere nothing: it would fill a log. Empty: it is taken away. */
  renew(text: string): void {
    if (this.#stderr.isTTY !== true || (text === '' && !this.#hasOpenLine)) return;
    this.#stderr.write(`${CLEAR_LINE}${text}`);
    this.#hasOpenLine = text !== '';
  }
}
