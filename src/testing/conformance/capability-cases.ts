/** A driver declares what it can do, and says clearly what it cannot. */
import assert from 'node:assert/strict';
import type { Capabilities, Connection, Reservation } from '../../connections/contract';
import type { CaseDefinition, Capability } from './harness';
import { completed, probe, rejectsWithCode } from './world';

/** Nobody holds it: a driver that hands out no jobs refuses it before it looks. */
const NO_RESERVATION: Reservation = {
  queue: 'probes',
  payload: Buffer.from(probe('a')),
  counters: { attempts: 1, crashes: 0, exceptions: 0, timeouts: 0, releases: 0 },
  token: undefined,
};

interface CapabilityCalls {
  readonly capability: Capability;
  readonly calls: readonly ((connection: Connection) => unknown)[];
}

/** What asks for a capability. `wake` needs no call: without it a wait only sleeps. */
export const CALLS: readonly CapabilityCalls[] = [
  { capability: 'delay', calls: [(store) => store.push('probes', [{ payload: probe('a'), delay: 60 }])] },
  {
    capability: 'reserve',
    calls: [
      (store) => store.reserve({ queues: ['probes'], limit: 1, lease: 60 }),
      (store) => store.settle([completed(NO_RESERVATION)]),
      (store) => store.waiter(['probes']).wait(1, new AbortController().signal),
    ],
  },
  { capability: 'renew', calls: [(store) => store.renew([NO_RESERVATION], 60)] },
  { capability: 'counts', calls: [(store) => store.counts('probes')] },
  { capability: 'clear', calls: [(store) => store.clear('probes')] },
  { capability: 'peek', calls: [(store) => store.peek('probes', 'ready', 1)] },
];

export const capabilityCases = (capabilities: Capabilities): readonly CaseDefinition[] => [
  {
    name: 'a driver declares the capabilities that the suite was told',
    requires: [],
    async run(world) {
      const { moments = false, ...declared } = world.connection.capabilities;
      assert.deepEqual({ moments, ...declared }, { ...capabilities });
    },
  },
  {
    name: 'a driver has a failed store, a lock store and a control exactly where it declares them',
    requires: [],
    async run(world) {
      assert.equal(world.connection.failed !== undefined, capabilities.failed);
      assert.equal(world.connection.locks !== undefined, capabilities.locks);
      assert.equal(world.connection.control !== undefined, capabilities.control);
    },
  },
  ...CALLS.map(({ capability, calls }): CaseDefinition => ({
    name: `a driver without the capability '${capability}' says so when it is asked for`,
    requires: [],
    lacks: [capability],
    async run(world) {
      for (const call of calls) {
        await rejectsWithCode(() => call(world.connection), 'E_CAPABILITY', `a driver that cannot ${capability}`);
      }
    },
  })),
];
