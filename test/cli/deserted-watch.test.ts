import { watchForDesertion } from '../../src/cli/stop-signals';
import { TestClock } from '../../src/testing/test-clock';

const NPM = 100;
const INIT = 1;

let clock: TestClock;
let parent: number;
let heard: number;

beforeEach(() => {
  clock = new TestClock();
  parent = NPM;
  heard = 0;
});

function watch(environment: NodeJS.ProcessEnv): () => void {
  return watchForDesertion(() => (heard += 1), { environment, clock, parent: () => parent }, NPM);
}

describe.each([[{ npm_command: 'exec' }], [{ npm_lifecycle_event: 'start' }]])(
  'a process that npm started (%j)',
  (environment) => {
    it('notices within a second that npm is gone, and only once', async () => {
      watch(environment);
      await clock.advance('10s');
      expect(heard).toBe(0);

      parent = INIT;
      await clock.advance('1s');
      expect(heard).toBe(1);
      await clock.advance('10s');

      expect(heard).toBe(1);
    });

    it('notices nothing after it stopped watching', async () => {
      const stopWatching = watch(environment);
      stopWatching();
      parent = INIT;

      await clock.advance('10s');

      expect(heard).toBe(0);
    });
  },
);

it('a process that was not started by npm may outlive its parent', async () => {
  watch({ HOME: '/root' });
  parent = INIT;

  await clock.advance('10s');

  expect(heard).toBe(0);
});
