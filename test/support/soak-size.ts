/** The size of tests that race or roll dice: the longer they go on, the more they may find. */

const TIMES = process.env['ONQUEUE_SEED'] === undefined ? 1 : 10;

/** `few` in `npm test`, and ten times as many in `npm run soak:properties`, which sets ONQUEUE_SEED. */
export const soakSize = (few: number): number => few * TIMES;
