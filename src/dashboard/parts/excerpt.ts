/** One line of a job's data or error, for lists. */
import { html, type Html } from '../html';

/** In characters. */
const LONGEST = 120;
const LONGEST_ERROR = 300;

/** @param payload with its secrets masked */
export function excerptOf(payload: unknown): Html {
  const text = dataText(payload);
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  return html`<code><bdi>${shown}</bdi></code>`;
}

/** What an error says, without its stack. */
export function errorLine(exception: string): string {
  const [line = ''] = exception.split('\n', 1);
  return line.length > LONGEST_ERROR ? `${line.slice(0, LONGEST_ERROR)}…` : line;
}

/** As JSON; a text stays as it is. */
export function dataText(payload: unknown): string {
  const data = dataIn(payload);
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
}

/** What the dispatcher gave; for foreign payloads, everything. */
function dataIn(payload: unknown): unknown {
  const data = (payload as { readonly data?: unknown } | null)?.data ?? payload;
  return (data as { readonly command?: unknown } | null)?.command ?? data;
}
