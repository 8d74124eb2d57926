/** Runs test files half as many at a time as Jest runs others, once these are done. */
import TestRunner from 'jest-runner';

type Given = ConstructorParameters<typeof TestRunner>;

export default class HalfAtATime extends TestRunner {
  constructor(globalConfig: Given[0], context: Given[1]) {
    super({ ...globalConfig, maxWorkers: Math.ceil(globalConfig.maxWorkers / 2) }, context);
  }
}
