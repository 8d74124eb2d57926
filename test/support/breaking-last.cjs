/** The order of test files: Jest's own, but what breaks things comes last. */
const { default: Sequencer } = require('@jest/test-sequencer');

/** Jest goes by the size of a file until it knows how long it takes: these would come last, and all others wait for them. */
const SMALL_AND_LONG = /\/samples\/|\/outages\b/;
const SOAK = /\/soaks\//;

const isBreaking = ({ context }) => context.config.displayName?.name === 'breaking';
const isLong = ({ path }) => SMALL_AND_LONG.test(path);
const isSoak = ({ path }) => SOAK.test(path);

/** The first that `is` true of, then the others, each in their order. */
const parted = (tests, is) => [tests.filter((test) => is(test)), tests.filter((test) => !is(test))];

module.exports = class BreakingLast extends Sequencer {
  sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- this one is not an array's
    const [breaking, others] = parted(parted(super.sort(tests), isLong).flat(), isBreaking);
    const [soaks, rest] = parted(breaking, isSoak);
    // A soak has many processes, and computes; the others wait: two of them go beside each.
    return [...others, ...soaks.flatMap((soak) => [soak, ...rest.splice(0, 2)]), ...rest];
  }
};
