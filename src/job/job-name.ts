/** Which texts may name a job or be its id: they appear in log lines, lists and keys, whoever wrote the payload. */
import { isPlain } from '../base/plain-text';

const LONGEST_NAME = 255;

/** The rule for names, for errors. */
export const NAME_RULE = `1 to ${LONGEST_NAME} characters, none of them a control character`;

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME && isPlain(value);
}
