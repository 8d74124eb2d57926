/** What a text that is no payload is called wherever it shows up; the Lua scripts say the same. */

/** In the place of a job's name. */
export const UNREADABLE_NAME = '(unreadable)';

/** Why a store set a text aside: the error of the failed job. */
export const NOT_AN_OBJECT =
  'E_INVALID_PAYLOAD: The payload is not a JSON object that can be read; it was kept as it came. docs/format.md says what a payload looks like.';
