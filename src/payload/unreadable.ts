/** What can be said about a text that is not a payload, or that must not be parsed because it may kill the parser. */
import { idAtEnd } from './counters';

/** The name of a job whose text is not a payload. */
export const UNREADABLE_NAME = '(unreadable)';

/** Why a store set a text aside: the error of the failed job. The same words as in lua/parts/aside.lua. */
export const NOT_AN_OBJECT =
  'E_INVALID_PAYLOAD: The payload is not a JSON object that can be read; it was kept as it came. docs/format.md says what a payload looks like.';

/** The name and id of a job, read from the two ends of its text. */
export interface Glimpse {
  readonly id: string | undefined;
  readonly name: string | undefined;
}

const WINDOW = 512;

/** How we and Laravel begin a text. */
const NAME = /^\{(?:"uuid":"[^"\\]*",)?"(?:displayName|job)":("(?:[^"\\]|\\["\\/])+")/;

export function glimpseOf(payload: Buffer): Glimpse {
  const quoted = NAME.exec(payload.toString('utf8', 0, WINDOW))?.[1];
  return { id: idAtEnd(payload), name: quoted?.slice(1, -1).replace(/\\(.)/g, '$1') };
}
