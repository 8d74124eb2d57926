import { systemClock } from '../../src/base/clock';
import { connectMemory } from '../../src/connections/memory/connection';
import { conformance, type ConformanceHarness } from '../../src/testing/conformance';
import { TestClock } from '../../src/testing/test-clock';

async function openMemory(): Promise<ConformanceHarness> {
  const clock = new TestClock();
  const connection = connectMemory({ driver: 'memory' }, { name: 'memory', clock });
  const other = connection.duplicate();
  return {
    connection,
    second: () => other,
    advance: (seconds) => clock.advance(seconds),
    dispose: async () => void (await Promise.all([connection.close(), other.close()])),
  };
}

/** Real time passes by itself, so this harness suits only cases that wait by the clock of the machine. */
async function openMemoryInRealTime(): Promise<ConformanceHarness> {
  const connection = connectMemory({ driver: 'memory' }, { name: 'memory', clock: systemClock });
  return { connection, advance: () => undefined, dispose: () => connection.close() };
}

const REAL_TIME = new Set([
  'a waiting worker wakes when a delayed job that another client pushed during the wait becomes due',
  'a wait ends when its time is over',
  'a lock that is not renewed ends, and another client can acquire it',
]);

describe('the memory driver', () => {
  it.each(conformance(openMemory))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

describe('the memory driver with the clock of the machine', () => {
  it.each(conformance(openMemoryInRealTime).filter((it) => REAL_TIME.has(it.name)))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
