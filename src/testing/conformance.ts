/**
 * The public conformance suite: every promise that a `Connection` makes, as cases for any test runner.
 *
 * ```ts
 * for (const { name, run } of conformance(open)) test(name, run);
 * ```
 */
import type { Capability } from '../connections/driver';
import { batchCases } from './conformance/batch-cases';
import { connectionCases } from './conformance/connection-cases';
import { controlCases } from './conformance/control-cases';
import { delayCases } from './conformance/delay-cases';
import { failedCases } from './conformance/failed-cases';
import type { CaseDefinition, ConformanceCase, ConformanceHarness } from './conformance/harness';
import { laneCases } from './conformance/lane-cases';
import { limitCases } from './conformance/limit-cases';
import { operationCases } from './conformance/operation-cases';
import { payloadCases } from './conformance/payload-cases';
import { recordCases } from './conformance/record-cases';
import { reserveCases } from './conformance/reserve-cases';
import { tieCases } from './conformance/tie-cases';
import { World } from './conformance/world';

export type { Capability } from '../connections/driver';
export type { ConformanceCase, ConformanceHarness } from './conformance/harness';

/**
 * The cases that concern a driver.
 *
 * @param open opens an empty store; each case calls it once, and disposes of the result
 * @param lacking the flags that the driver does not set and the members that it lacks: those promises are left out, and it must
 * refuse a delay or a reserve with a `CapabilityError`. Default: a driver that can do everything
 */
export function conformance(
  open: () => Promise<ConformanceHarness>,
  lacking: { readonly [K in Capability]?: false } = {},
): readonly ConformanceCase[] {
  const isAble = (capability: Capability): boolean => {
    // Without records nobody is woken for one, and so on.
    const whole = PART_OF[capability];
    return lacking[capability] !== false && (whole === undefined || lacking[whole] !== false);
  };
  const definitions: readonly CaseDefinition[] = [
    ...reserveCases,
    ...delayCases,
    ...tieCases,
    ...batchCases,
    ...laneCases,
    ...controlCases,
    ...limitCases,
    ...payloadCases,
    ...failedCases,
    ...operationCases,
    ...recordCases,
    ...connectionCases(isAble),
  ];
  return definitions
    .filter(({ requires, lacks }) => requires.every(isAble) && !lacks.some(isAble))
    .map(({ name, requires, run }) => ({ name, requires, run: () => runIn(open, run) }));
}

const PART_OF: { readonly [K in Capability]?: Capability } = {
  recordWake: 'records',
  reschedule: 'control',
  limits: 'control',
};

async function runIn(open: () => Promise<ConformanceHarness>, run: CaseDefinition['run']): Promise<void> {
  const harness = await open();
  try {
    await run(new World(harness, (await harness.second?.()) ?? harness.connection));
  } finally {
    await harness.dispose();
  }
}
