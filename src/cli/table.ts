/** Formats tables for a terminal: columns aligned by visible width, numbers to the right. */
import { oneLine } from '../base/plain-text';

/** `1 job`, `2 jobs`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

export type Cell = string | number | undefined;

type Rows = readonly (readonly Cell[])[];

const GAP = '  ';

/** A last column narrower than this says nothing; the terminal may as well wrap it. */
const NARROWEST = 12;

/** How wide the last column may be in a terminal of this width. */
export function roomForLast(headings: readonly string[], rows: Rows, width: number): number {
  const others = columnWidths(headings, rows).slice(0, -1);
  return others.reduce((room, taken) => room - taken - GAP.length, width);
}

/**
 * One line for the headings and one for each row, without a final line break.
 *
 * @param width the terminal's width: the last column is cut to fit
 */
export function formatTable(headings: readonly string[], rows: Rows, width = Infinity): string {
  const widths = columnWidths(headings, rows);
  const last = headings.length - 1;
  const room = Math.max(NARROWEST, roomForLast(headings, rows, width));
  const lineOf = (row: readonly Cell[]): string =>
    widths
      .map((width, column) => {
        const text = cellText(row[column]);
        const shown = column === last ? cut(text, room) : text;
        if (width === 0) return shown;
        const padding = ' '.repeat(Math.max(0, width - visibleWidth(shown)));
        return isNumeric(rows, column) ? padding + shown : shown + padding;
      })
      .join(GAP)
      .trimEnd();
  return [headings, ...rows].map(lineOf).join('\n');
}

/** 0 for texts in the last column: they may be long, and need no padding. */
function columnWidths(headings: readonly string[], rows: Rows): number[] {
  const last = headings.length - 1;
  return headings.map((_, column) =>
    column === last && !isNumeric(rows, column)
      ? 0
      : Math.max(...[headings, ...rows].map((row) => visibleWidth(cellText(row[column])))),
  );
}

const isNumeric = (rows: Rows, column: number): boolean => rows.every((row) => typeof row[column] === 'number');

// Names and messages come from payloads: their control characters must not break the table or reach the terminal.
function cellText(cell: Cell): string {
  return cell === undefined
    ? ''
    : oneLine(
        String(cell)
          .replace(/[\n\u2028\u2029]\s*|\p{Cc}+/gu, ' ')
          .trim(),
      );
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Characters that take two columns on a terminal. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])/u;

/**
 * Pieces of a text: plain ASCII, in which each character is one column; or a short piece of anything else, because the segmenter
 * needs longer for each character of a longer text. An ASCII character before another one belongs to a piece of the latter kind:
 * it may be combined.
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
