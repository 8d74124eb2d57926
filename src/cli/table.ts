/** Formats tables for a terminal: columns aligned by visible width, numbers to the right. */

/** `1 job`, `2 jobs`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

export type Cell = string | number | undefined;

export interface TableOptions {
  /** The terminal's width: the last column is cut to fit. Default: not cut. */
  readonly width?: number | undefined;
}

const GAP = '  ';

/** A last column narrower than this says nothing; the terminal may as well wrap it. */
const NARROWEST = 12;

/** How wide the last column may be. Infinity: no limit. */
export function roomForLast(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  { width = Infinity }: TableOptions,
): number {
  const widths = headings.slice(0, -1).map((heading, column) => {
    return Math.max(visibleWidth(heading), ...rows.map((row) => visibleWidth(cellText(row[column]))));
  });
  return width - widths.reduce((sum, width) => sum + width + GAP.length, 0);
}

/** One line for the headings and one for each row, without a final line break. */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  options: TableOptions = {},
): string {
  const texts = [headings, ...rows].map((row) => headings.map((_, column) => cellText(row[column])));
  const widths = headings.map((_, column) => Math.max(...texts.map((row) => visibleWidth(row[column] ?? ''))));
  const last = headings.length - 1;
  const room = Math.max(NARROWEST, roomForLast(headings, rows, options));
  const isNumeric = headings.map((_, column) => rows.every((row) => typeof row[column] === 'number'));
  return texts
    .map((row) =>
      row
        .map((text, column) => {
          const shown = column === last ? cut(text, room) : text;
          const padding = ' '.repeat(Math.max(0, (widths[column] ?? 0) - visibleWidth(shown)));
          if (isNumeric[column] === true) return padding + shown;
          return column === last ? shown : shown + padding;
        })
        .join(GAP),
    )
    .map((line) => line.trimEnd())
    .join('\n');
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
