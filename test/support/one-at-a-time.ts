/** Runs test files one after the other, in a process beside Jest's own, once all other files are done. */
import TestRunner from 'jest-runner';

type Given = ConstructorParameters<typeof TestRunner>;

export default class OneAtATime extends TestRunner {
  constructor(globalConfig: Given[0], context: Given[1]) {
    super({ ...globalConfig, maxWorkers: 1 }, context);
  }
}
