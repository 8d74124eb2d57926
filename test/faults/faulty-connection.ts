/** A real connection whose calls a test can reject, hold back, or carry out without an answer. */
import type { Configuration } from '../../src/application/configuration/configuration';
import { connectMemory } from '../../src/connections/memory/connection';
import type { Connection, Settlement, Wanted } from '../../src/connections/contract';
import { testApplication, type TestApplication } from '../support/application';

/** Exchanges by what they do: `exchange` settles and reserves, and `wait` only waits. */
type Operation = 'push' | 'pushOnce' | 'reserve' | 'settle' | 'exchange' | 'wait' | 'renew' | 'counts';

/** What happens to one call. */
export type Fault =
  | { readonly kind: 'reject'; readonly error: Error }
  /** Carried out only once `until` resolves. */
  | { readonly kind: 'hold'; readonly until: Promise<void> }
  /** Carried out and then rejected, as if the reply was lost. */
  | { readonly kind: 'lose'; readonly error: Error }
  /** Carried out twice, as by a client that repeats a call. The second reply is returned. */
  | { readonly kind: 'duplicate' };

export class Faults {
  readonly calls: Operation[] = [];
  readonly #planned = new Map<Operation, (Fault | undefined)[]>();

  /** Plans these faults for the next calls of `operation` without a planned fault. */
  next(operation: Operation, ...faults: readonly Fault[]): void {
    this.#planned.set(operation, [...(this.#planned.get(operation) ?? []), ...faults]);
  }

  /** Plans this fault for the `count`-th call of `operation`, from 1, after those with a planned fault. */
  nth(operation: Operation, count: number, fault: Fault): void {
    const before = Array.from({ length: count - 1 }, () => undefined);
    this.#planned.set(operation, [...(this.#planned.get(operation) ?? []), ...before, fault]);
  }

  take(operation: Operation): Fault | undefined {
    this.calls.push(operation);
    return this.#planned.get(operation)?.shift();
  }
}

const OPERATIONS = new Set<string>(['push', 'pushOnce', 'exchange', 'renew', 'counts']);

function operationOf(name: string, [settlements, wanted]: readonly unknown[]): Operation {
  if (name !== 'exchange') return name as Operation;
  if ((settlements as readonly Settlement[]).length > 0) return wanted === undefined ? 'settle' : 'exchange';
  return (wanted as Wanted).limit === 0 ? 'wait' : 'reserve';
}

const PARTS = new Set<string | symbol>(['queues', 'keys']);

export function faulty<Part extends object>(part: Part, faults: Faults): Part {
  return new Proxy(part, {
    get(target, property): unknown {
      const value: unknown = Reflect.get(target, property, target);
      if (PARTS.has(property)) return faulty(value as object, faults);
      if (typeof value !== 'function') return value;
      if (typeof property === 'symbol' || !OPERATIONS.has(property)) return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        const fault = faults.take(operationOf(property, args));
        if (fault?.kind === 'reject') throw fault.error;
        if (fault?.kind === 'hold') await fault.until;
        if (fault?.kind === 'duplicate') await value.apply(target, args);
        const reply: unknown = await value.apply(target, args);
        if (fault?.kind === 'lose') throw fault.error;
        return reply;
      };
    },
  });
}

export interface FaultyApplication extends TestApplication {
  readonly faults: Faults;
  readonly connection: Connection;
}

/** An application on memory connections with the faults that `faults` plans. */
export function faultyApplication(configuration?: Configuration): FaultyApplication {
  const application = testApplication(configuration);
  const faults = new Faults();
  application.manager.addConnector('memory', (config, context) => faulty(connectMemory(config, context), faults));
  return { ...application, faults, connection: application.manager.driver() };
}
