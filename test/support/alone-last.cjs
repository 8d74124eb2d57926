/** The order of test files: Jest's own, but what runs one at a time comes last, when nothing runs beside it. */
const { default: Sequencer } = require('@jest/test-sequencer');

const isAlone = ({ context }) => context.config.displayName?.name === 'alone';

module.exports = class AloneLast extends Sequencer {
  sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- this one is not an array's
    const sorted = super.sort(tests);
    return [...sorted.filter((test) => !isAlone(test)), ...sorted.filter(isAlone)];
  }
};
