/** Name and id of a job, read from the ends of its text: for the log of a text that may kill the parser. */
import { idAtEnd } from './counters';

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
