/** What a command prints: results to standard output, the rest to standard error; how tables and moments look. */
import type { Milliseconds } from '../base/clock';
import { styleText } from 'node:util';
import { ConsoleLogger, hasColors, type LogLevel, type LogStream } from '../base/logger';
import { shortSpanText } from '../base/span';
import { manyLines, oneLine, plainJson } from '../base/text';

/** The parts of `process.stdout` and `process.stderr` that we need. */
export interface OutputStream extends LogStream {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** A message cut to fewer characters says nothing. */
const READABLE = 30;

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
  /** Nothing is cut at the width of the terminal. */
  isWide = false;

  constructor(stdout: OutputStream, stderr: OutputStream) {
    this.#stdout = stdout;
    this.#stderr = stderr;
  }

  get #width(): number {
    return (this.#stdout.isTTY === true && !this.isWide ? this.#stdout.columns : undefined) ?? Infinity;
  }

  /** When something happened: exact in a pipe and where nothing is cut, how long ago on a terminal. */
  past(moment: Date | undefined, now: Milliseconds): string | undefined {
    return moment && (this.#width === Infinity ? momentText(moment) : agoText(moment, now));
  }

  /** When something is to happen; it may be overdue. */
  ahead(moment: Date | undefined, now: Milliseconds): string | undefined {
    if (moment === undefined || this.#width === Infinity || moment.getTime() < now) return this.past(moment, now);
    return `in ${shortSpanText(moment.getTime() - now)}`;
  }

  /** @param text may be foreign: what could harm a terminal is escaped */
  line(text: string): void {
    if (this.isJson) return;
    this.renew('');
    this.#stdout.write(`${manyLines(text)}\n`);
  }

  /**
   * The complete result: the lines for people, or the value with `--json`, indented on a terminal. All lists have one shape there,
   * `{ items, next }`, which leaves room for more facts.
   */
  result(value: unknown, ...lines: readonly string[]): void {
    for (const line of lines) this.line(line);
    if (!this.isJson) return;
    const document = Array.isArray(value) ? { items: value as readonly unknown[] } : value;
    this.document(document, this.#stdout.isTTY === true ? 2 : undefined);
  }

  /** One of many documents, on a line of its own. */
  document(value: unknown, indent?: number): void {
    // JSON allows characters that some terminals take for the beginning of a command.
    this.#stdout.write(`${plainJson(JSON.stringify(value, undefined, indent))}\n`);
  }

  /** A row of a table that has no end, and no headings. @param widths to which its first cells are padded */
  row(cells: readonly Cell[], widths: readonly number[] = []): void {
    let room = this.#width;
    const shown = cells.flatMap((cell, column) => {
      const text = column === cells.length - 1 ? cut(cellText(cell), Math.max(room, NARROWEST)) : cellText(cell);
      if (text === '') return [];
      const taken = Math.max(widths[column] ?? 0, visibleWidth(text));
      room -= taken + GAP.length;
      return [
        painted(text, hasColors(this.#stdout) ? toneOf(cell) : undefined) + ' '.repeat(taken - visibleWidth(text)),
      ];
    });
    this.#lay([shown.join(GAP).trimEnd()]);
  }

  table(headings: readonly string[], rows: Rows): void {
    this.#lay(this.#lines(headings, rows));
  }

  /** What is known of one thing, each in a line of its own. */
  facts(facts: Iterable<readonly [word: string, fact: string | undefined]>): void {
    for (const [word, fact] of facts) if (fact !== undefined) this.line(`${word.padEnd(12)}${oneLine(fact)}`);
  }

  /**
   * A table if there is room for the last cell, which matters most; otherwise several lines a row. @param readable its least
   * columns if it is longer
   */
  list(headings: readonly string[], rows: Rows, readable = READABLE): void {
    const { room, wanted } = layout(headings, rows, this.#width, readable);
    if (room >= wanted) return this.#lay(this.#lines(headings, rows, readable));
    for (const row of rows) {
      const [first, ...others] = row.map((cell, column) => {
        const text = oneLine(wordsOf(cell));
        return column > 0 && typeof plainOf(cell) === 'number' ? `${headings[column]} ${text}` : text;
      });
      const last = others.pop() ?? '';
      const lines = [others.filter((fact) => fact !== '').join(', '), last].filter((text) => text !== '');
      this.line([first, ...lines].join('\n  '));
    }
  }

  /** A table whose last cells are never cut: those that are too long follow their rows in a line of their own. */
  uncut(headings: readonly string[], rows: Rows): void {
    const room = Math.max(NARROWEST, layout(headings, rows, this.#width).room);
    const isLong = (row: readonly Cell[]): boolean => cut(cellText(row.at(-1)), room) !== cellText(row.at(-1));
    const short = rows.map((row) => (isLong(row) ? row.slice(0, -1) : row));
    const [first = '', ...lines] = this.#lines(headings, short);
    const shown = lines.flatMap((line, at) => (isLong(rows[at]!) ? [line, `  ${cellText(rows[at]!.at(-1))}`] : [line]));
    this.#lay([first, ...shown]);
  }

  // Its cells are harmless already, and it may be coloured: escaping would show the colours as text.
  #lay(lines: readonly string[]): void {
    if (this.isJson) return;
    this.renew('');
    this.#stdout.write(`${lines.join('\n')}\n`);
  }

  #lines(headings: readonly string[], rows: Rows, readable?: number): readonly string[] {
    return formatTable(headings, rows, this.#width, hasColors(this.#stdout), readable).split('\n');
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

/** `1 job`, `2 jobs`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

export type Cell = string | number | undefined | Toned;

/** A cell with what its text means, which a terminal shows as a colour. */
export interface Toned {
  readonly text: string | number;
  readonly tone: Tone | undefined;
}

export type Tone = keyof typeof COLORS;

/** We know the stream and the user's wish; Node.js would look at its own standard output. */
const UNASKED = { validateStream: false };

const COLORS = { good: 'green', warning: 'yellow', bad: 'red' } as const;

/** Red if there are any, because that is what people look for. */
export const failures = (count: number): Cell => (count === 0 ? count : { text: count, tone: 'bad' });

type Rows = readonly (readonly Cell[])[];

const GAP = '  ';

/** A last column narrower than this says nothing; the terminal may as well wrap it. */
const NARROWEST = 12;

/** A text between the first and the last column is not cut to fewer columns: `23h 59m ago` stays whole. */
const LEAST = 12;

/**
 * One line for the headings and each row, without a final break. @param width the last column is cut to fit
 * @param readable for so many columns of the last one, the texts before it are cut too, but for the first, which people copy
 */
export function formatTable(
  headings: readonly string[],
  rows: Rows,
  width = Infinity,
  isColored = false,
  readable = 0,
): string {
  const { widths, room } = layout(headings, rows, width, readable);
  const last = headings.length - 1;
  const lineOf = (row: readonly Cell[]): string =>
    widths
      .map((width, column) => {
        const text = cellText(row[column]);
        const fitting =
          column === 0 && last > 0 ? text : cut(text, column === last ? Math.max(NARROWEST, room) : width);
        const shown = painted(fitting, isColored ? toneOf(row[column]) : undefined);
        if (width === 0) return shown;
        const padding = ' '.repeat(Math.max(0, width - visibleWidth(fitting)));
        return isNumeric(rows, column) ? padding + shown : shown + padding;
      })
      .join(GAP)
      .trimEnd();
  return [headings, ...rows].map(lineOf).join('\n');
}

/**
 * How wide the columns are, 0 for texts in the last one: they may be long, and need no padding. `room` is what the last one has
 * in a terminal of this width, and `wanted` what it needs, at most `readable`.
 */
function layout(headings: readonly string[], rows: Rows, width: number, readable = 0) {
  const last = headings.length - 1;
  const all = [headings, ...rows];
  const isText = headings.map((_, column) => !isNumeric(rows, column));
  const widths = headings.map((_, column) =>
    column === last && isText[column]! ? 0 : Math.max(...all.map((row) => visibleWidth(cellText(row[column])))),
  );
  const needs = (text: string): number => (readable === 0 ? 0 : visibleWidth(cut(text, readable)));
  const wanted = isText[last]! ? Math.max(...all.map((row) => needs(cellText(row[last])))) : widths[last]!;
  let room = widths.slice(0, -1).reduce((left, taken) => left - taken - GAP.length, width);
  for (; room < wanted; room += 1) {
    const least = (column: number): number => Math.max(LEAST, visibleWidth(headings[column]!));
    const yielding = widths.flatMap((taken, column) =>
      column > 0 && column < last && isText[column]! && taken > least(column) ? [column] : [],
    );
    if (yielding.length === 0) break;
    widths[yielding.reduce((widest, column) => (widths[column]! > widths[widest]! ? column : widest))]! -= 1;
  }
  return { widths, room, wanted };
}

const isNumeric = (rows: Rows, column: number): boolean =>
  rows.every((row) => typeof plainOf(row[column]) === 'number');

const painted = (text: string, tone: Tone | undefined): string =>
  tone === undefined || text === '' ? text : styleText(COLORS[tone], text, UNASKED);

const plainOf = (cell: Cell): string | number | undefined => (typeof cell === 'object' ? cell.text : cell);
const toneOf = (cell: Cell): Tone | undefined => (typeof cell === 'object' ? cell.tone : undefined);
const wordsOf = (cell: Cell): string => String(plainOf(cell) ?? '');

// Names and messages come from payloads: their control characters must not break the table or reach the terminal.
function cellText(cell: Cell): string {
  return oneLine(
    wordsOf(cell)
      .replace(/[\n\u2028\u2029]\s*|\p{Cc}+/gu, ' ')
      .trim(),
  );
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Characters that take two columns on a terminal. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])/u;

/**
 * Plain ASCII, one column a character; or a short piece of anything else: the segmenter needs longer for each character of a
 * longer text. An ASCII character before another one belongs to the latter kind: it may be combined.
 */
const PIECES = /[ -~]+(?![^ -~])|[^]{1,100}/gu;
const PLAIN = /^[ -~]*$/;

function* segmentsOf(text: string): Generator<string> {
  for (const [piece] of text.matchAll(PIECES)) {
    if (PLAIN.test(piece)) yield* piece;
    else for (const { segment } of graphemes.segment(piece)) yield segment;
  }
}

const columnsOf = (segment: string): number => (WIDE.test(segment) ? 2 : 1);

/** How many columns the text takes on a terminal. */
export function visibleWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const segment of segmentsOf(text)) width += columnsOf(segment);
  return width;
}

/** The part of a text that fits into `room` columns. Looks no further. */
export function cut(text: string, room: number): string {
  if (text.length <= room && PLAIN.test(text)) return text;
  let kept = 0;
  let width = 0;
  for (const segment of room === Infinity ? [] : segmentsOf(text)) {
    width += columnsOf(segment);
    if (width > room) return `${text.slice(0, kept).trimEnd()}…`;
    if (width < room) kept += segment.length;
  }
  return text;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** How moments are shown to people. */
export function momentText(moment: Date): string {
  return moment
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
}

/** `90s`, `2h`: the whole span, in the largest unit that divides it. */
export function exactSpanText(span: Milliseconds): string {
  const [unit, length] = UNITS.find(([, each]) => span >= each && span % each === 0) ?? ['s', 1000];
  return `${span / length}${unit}`;
}

/** `3m 20s ago`. A store's clock may be ahead of ours; then it was just now. */
export function agoText(moment: Date, now: Milliseconds): string {
  return `${shortSpanText(Math.max(now - moment.getTime(), 0))} ago`;
}
