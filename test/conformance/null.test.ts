import { NullConnection } from '../../src/connections/null/driver';
import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';

async function openNull(): Promise<ConformanceHarness> {
  const connection = new NullConnection('null');
  return { connection, advance: () => undefined, dispose: () => connection.close() };
}

const lacking = {
  moments: false,
  reserve: false,
  renew: false,
  order: false,
  follows: false,
  find: false,
  keys: false,
  batches: false,
  lanes: false,
  requeue: false,
  failed: false,
  locks: false,
  control: false,
  records: false,
} as const;

describe('the null driver', () => {
  it.each(conformance(openNull, lacking))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
