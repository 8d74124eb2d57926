/** Which texts may name a job, or be its id: they stand in log lines, lists and keys, whoever wrote the payload. */
import { isPlain } from '../base/plain-text';

const LONGEST_NAME = 255;

/** What a name has to be, for errors. */
export const NAME_RULE = `1 to ${LONGEST_NAME} characters, none of them a control character`;

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME && isPlain(value);
}

/** Shorter than anybody would name a class: a minifier does, and names others so in the next build. */
export function isMinified(name: string): boolean {
  return /^[\w$]{1,2}$/.test(name);
}
