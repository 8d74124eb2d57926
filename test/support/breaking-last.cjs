/** The order of test files: Jest's own, but what breaks things comes last. */
const { default: Sequencer } = require('@jest/test-sequencer');

/** Jest goes by the size of a file until it knows how long it takes: these would come last, and all others wait for them. */
const SMALL_AND_LONG = /\/(?:samples|soaks)\/|\/outages\b/;

const placeOf = ({ context, path }) =>
  (context.config.displayName?.name === 'breaking' ? 2 : 0) + (SMALL_AND_LONG.test(path) ? 0 : 1);

module.exports = class BreakingLast extends Sequencer {
  sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- this one is not an array's
    return super.sort(tests).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
};
