/** What a text that is no payload is called wherever it shows up; `lua/exchange.lua` says the same. */

/** Stands where the name of the job would. */
export const UNREADABLE_NAME = '(unreadable)';

/** Why a store set a text aside, and what the failed job has for an error. */
export const NOT_AN_OBJECT =
  'E_INVALID_PAYLOAD: The payload is not a JSON object that can be read; it was kept as it came. docs/format.md says what a payload looks like.';
