import { builtInConnectors } from '../../src/connections/built-in';
import { silentLogger } from '../../src/base/console-logger';
import type { Connection } from '../../src/connections/contract';
import { QueueManager } from '../../src/application/queue-manager';
import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { TestClock } from '../../src/testing/test-clock';

/** The same store: memory is one process's own. */
async function openFailover(): Promise<ConformanceHarness> {
  const clock = new TestClock();
  const manager = new QueueManager(
    { connectors: builtInConnectors, logger: silentLogger, clock },
    {
      default: 'both',
      connections: {
        first: { driver: 'memory' },
        second: { driver: 'memory' },
        both: { driver: 'failover', connections: ['first', 'second'] },
      },
    },
  );
  const connection: Connection = manager.driver('both');
  return {
    connection,
    advance: (seconds) => clock.advance(seconds),
    dispose: () => manager.close(),
  };
}

/** It is kept, and retried, under the name of the connection that it was on. */
const NAMED_OTHERWISE = 'a failed job is kept with its error, its text and where it came from';

describe('the failover driver, as far as its first connection goes', () => {
  it.each(conformance(openFailover).filter(({ name }) => name !== NAMED_OTHERWISE))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
