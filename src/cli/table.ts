/** Formats tables for a terminal: columns aligned by visible width, numbers to the right. */

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
  const isNumeric = headings.map((_, column) => rows.every((row) => typeof row[column] === 'number'));
  const lineOf = (row: readonly Cell[]): string =>
    widths
      .map((width, column) => {
        const text = cellText(row[column]);
        const shown = column === last ? cut(text, room) : text;
        const padding = ' '.repeat(Math.max(0, width - visibleWidth(shown)));
        return isNumeric[column] === true ? padding + shown : shown + padding;
      })
      .join(GAP)
      .trimEnd();
  return [headings, ...rows].map(lineOf).join('\n');
}

function columnWidths(headings: readonly string[], rows: Rows): number[] {
  return headings.map((_, column) =>
    Math.max(...[headings, ...rows].map((row) => visibleWidth(cellText(row[column])))),
  );
}

// Names and messages come from payloads: their control characters must not break the table or reach the terminal.
function cellText(cell: Cell): string {
  return cell === undefined
    ? ''
    : String(cell)
        .replace(/\n\s*|\p{Cc}+/gu, ' ')
        .trim();
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Characters that take two columns on a terminal. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])/u;

/** How many columns the text takes on a terminal. */
export function visibleWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** The part of a text that fits into `room` columns. */
export function cut(text: string, room: number): string {
  if (visibleWidth(text) <= room) return text;
  let kept = '';
  let width = 1;
  for (const { segment } of graphemes.segment(text)) {
    width += visibleWidth(segment);
    if (width > room) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}
