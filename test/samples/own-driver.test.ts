import { systemClock } from '../../src/base/clock';
import { ArrayConnection } from '../../samples/own-driver/array-connection';
import { conformance, type ConformanceHarness } from '../../src/testing/conformance';

/** A connection whose clock the test moves. */
async function open(): Promise<ConformanceHarness> {
  let moved = 0;
  const connection = new ArrayConnection('arrays', () => systemClock.now() + moved);
  return {
    connection,
    advance: (seconds) => {
      moved += seconds * 1000;
    },
    dispose: () => connection.close(),
  };
}

describe('the driver of the sample own-driver', () => {
  it.each(
    conformance(open, {
      renew: false,
      peek: false,
      failed: false,
      locks: false,
      follows: false,
      find: false,
      keys: false,
      lanes: false,
      batches: false,
      control: false,
      records: false,
    }),
  )('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
