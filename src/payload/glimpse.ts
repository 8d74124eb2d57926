/** What a text says at its ends of the job that it is: for the log, where it must not be parsed, as it may kill the parser. */
import { idAtEnd } from './counters';

export interface Glimpse {
  readonly id: string | undefined;
  readonly name: string | undefined;
}

const WINDOW = 512;

/** As we begin a text, and Laravel does. */
const NAME = /^\{(?:"uuid":"[^"\\]*",)?"(?:displayName|job)":("(?:[^"\\]|\\["\\/])+")/;

export function glimpseOf(payload: Buffer): Glimpse {
  const quoted = NAME.exec(payload.toString('utf8', 0, WINDOW))?.[1];
  return { id: idAtEnd(payload), name: quoted?.slice(1, -1).replace(/\\(.)/g, '$1') };
}
