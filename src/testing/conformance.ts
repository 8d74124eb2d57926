/**
 * The public conformance suite: every promise that a `Connection` makes, as cases for any test runner.
 *
 * ```ts
 * for (const { name, run } of conformance(open)) test(name, run);
 * ```
 */
import type { Capabilities } from '../connections/contract';
import { ALL_CAPABLE } from '../connections/driver';
import { batchCases } from './conformance/batch-cases';
import { connectionCases, lockCases } from './conformance/connection-cases';
import { cancelCases, controlCases } from './conformance/control-cases';
import { delayCases, waitCases } from './conformance/delay-cases';
import { failedCases } from './conformance/failed-cases';
import type { Capability, CaseDefinition, ConformanceCase, ConformanceHarness } from './conformance/harness';
import { inspectionCases, operationCases } from './conformance/operation-cases';
import { payloadCases } from './conformance/payload-cases';
import { recordCases, recordWakeCases } from './conformance/record-cases';
import { leaseCases, reserveCases, settleCases } from './conformance/reserve-cases';
import { debounceCases, tieCases } from './conformance/tie-cases';
import { World } from './conformance/world';

export type { Capability, ConformanceCase, ConformanceHarness } from './conformance/harness';

/**
 * The cases that concern a driver.
 *
 * @param open opens an empty store; each case calls it once, and disposes of the result
 * @param lacking what the driver declares that it cannot do: those promises are left out, and instead it must refuse with a
 * `CapabilityError`. Default: a driver that can do everything
 */
export function conformance(
  open: () => Promise<ConformanceHarness>,
  lacking: { readonly [K in Capability]?: false } = {},
): readonly ConformanceCase[] {
  // Without records nobody is woken for one.
  const recordWake = lacking.operations !== false;
  const capabilities: Capabilities = { ...ALL_CAPABLE, recordWake, ...lacking };
  const isAble = (capability: Capability): boolean => capabilities[capability] === true;
  const definitions: readonly CaseDefinition[] = [
    ...reserveCases,
    ...delayCases,
    ...settleCases,
    ...tieCases,
    ...debounceCases,
    ...batchCases,
    ...leaseCases,
    ...cancelCases,
    ...controlCases,
    ...payloadCases,
    ...waitCases,
    ...failedCases,
    ...lockCases,
    ...inspectionCases,
    ...operationCases,
    ...recordCases,
    ...recordWakeCases,
    ...connectionCases(capabilities),
  ];
  return definitions
    .filter(({ requires, lacks }) => requires.every(isAble) && !lacks.some(isAble))
    .map(({ name, requires, run }) => ({ name, requires, run: () => runIn(open, run) }));
}

async function runIn(open: () => Promise<ConformanceHarness>, run: CaseDefinition['run']): Promise<void> {
  const harness = await open();
  try {
    await run(new World(harness, (await harness.second?.()) ?? harness.connection));
  } finally {
    await harness.dispose();
  }
}
