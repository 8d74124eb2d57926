/** Everything that a command prints: results to standard output, the rest to standard error, progress only to a terminal. */
import { ConsoleLogger } from '../base/console-logger';
import type { LogStream } from '../base/log-lines';
import type { LogLevel } from '../base/logger';
import { manyLines, oneLine, plainJson } from '../base/plain-text';
import { type Cell, cut, formatTable, roomForLast } from './table';

/** The parts of `process.stdout` and `process.stderr` that we need. */
export interface OutputStream extends LogStream {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** A message cut to fewer characters says nothing. */
const READABLE = 60;

/** The width of a terminal that does not report it. */
const USUAL_WIDTH = 80;

const CLEAR_LINE = '\r\u001B[K';

export class Output {
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  /** The terminal shows a line that will be rewritten. */
  #hasOpenLine = false;
  /** The command was asked for one JSON document: only `result` prints; `line`, `table` and `list` do not. */
  isJson = false;
  /** The command was asked for JSON on standard error too. */
  logsJson = false;

  constructor(stdout: OutputStream, stderr: OutputStream) {
    this.#stdout = stdout;
    this.#stderr = stderr;
  }

  get #width(): number {
    return (this.#stdout.isTTY === true ? this.#stdout.columns : undefined) ?? Infinity;
  }

  /** @param text may be foreign: what could harm a terminal is escaped */
  line(text: string): void {
    if (this.isJson) return;
    this.renew('');
    this.#stdout.write(`${manyLines(text)}\n`);
  }

  /**
   * The complete result of a command: the lines for people, or the value with `--json`, which is indented on a terminal and one
   * line elsewhere.
   */
  result(value: unknown, ...lines: readonly string[]): void {
    for (const line of lines) this.line(line);
    if (!this.isJson) return;
    const text = JSON.stringify(value, undefined, this.#stdout.isTTY === true ? 2 : undefined);
    // JSON allows characters that some terminals take for the beginning of a command.
    this.#stdout.write(`${plainJson(text)}\n`);
  }

  table(headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
    this.line(formatTable(headings, rows, this.#width));
  }

  /**
   * Rows whose last cell matters most: a table if there is room, otherwise several lines for each row.
   *
   * @param readable columns that the last cell needs if it is as long; Infinity: it must not be cut
   */
  list(headings: readonly string[], rows: readonly (readonly Cell[])[], readable = READABLE): void {
    const room = roomForLast(headings, rows, this.#width);
    const fits = (text: string): boolean => cut(text, room) === text;
    if (room >= readable || rows.every((row) => fits(oneLine(String(row.at(-1) ?? '')))))
      return this.table(headings, rows);
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

  /** Writes anything that is not a result: a warning, an error, an unknown id. */
  note(text: string, level: LogLevel = 'warn'): void {
    if (this.logsJson) new ConsoleLogger(this.log, level, 'json')[level]({}, text);
    else this.log.write(`${manyLines(text)}\n`);
  }

  /** Standard error; removes a line that will be rewritten before it writes. */
  get log(): OutputStream {
    const { isTTY, columns } = this.#stderr;
    const write = (text: string): unknown => {
      this.renew('');
      return this.#stderr.write(text);
    };
    return { isTTY, columns, write };
  }

  /** The columns of a line written by `renew`. Undefined if there is no terminal. */
  get room(): number | undefined {
    return this.#stderr.isTTY === true ? (this.#stderr.columns ?? USUAL_WIDTH) : undefined;
  }

  /** Rewrites one line of a terminal. Does nothing elsewhere, where it would fill a log. An empty text removes the line. */
  renew(text: string): void {
    if (this.#stderr.isTTY !== true || (text === '' && !this.#hasOpenLine)) return;
    this.#stderr.write(`${CLEAR_LINE}${text}`);
    this.#hasOpenLine = text !== '';
  }
}
