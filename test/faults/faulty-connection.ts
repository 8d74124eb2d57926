/** A real connection whose calls a test rejects, holds back, or carries out without an answer. */
import { connectMemory } from '../../src/connections/memory/memory-connection';
import type { Connection } from '../../src/connections/contract';
import { testApplication, type TestApplication } from '../support/application';

type Operation = 'push' | 'reserve' | 'settle' | 'settleAndReserve' | 'renew' | 'counts';

/** What becomes of one call. */
export type Fault =
  | { readonly kind: 'reject'; readonly error: Error }
  /** Carried out only once `until` resolves. */
  | { readonly kind: 'hold'; readonly until: Promise<void> }
  /** Carried out, and then rejected: the reply is lost. */
  | { readonly kind: 'lose'; readonly error: Error }
  /** Carried out twice, as by a client that repeats what was carried out already; the second reply counts. */
  | { readonly kind: 'duplicate' };

export class Faults {
  readonly calls: Operation[] = [];
  readonly #planned = new Map<Operation, (Fault | undefined)[]>();

  /** The next call of `operation` that has no fault yet meets this one. */
  next(operation: Operation, ...faults: readonly Fault[]): void {
    this.#planned.set(operation, [...(this.#planned.get(operation) ?? []), ...faults]);
  }

  /** The `count`-th call of `operation` after those that have one, from 1, meets this fault. */
  nth(operation: Operation, count: number, fault: Fault): void {
    const before = Array.from({ length: count - 1 }, () => undefined);
    this.#planned.set(operation, [...(this.#planned.get(operation) ?? []), ...before, fault]);
  }

  take(operation: Operation): Fault | undefined {
    this.calls.push(operation);
    return this.#planned.get(operation)?.shift();
  }
}

const OPERATIONS = new Set<string>(['push', 'reserve', 'settle', 'settleAndReserve', 'renew', 'counts']);

export function faulty(connection: Connection, faults: Faults): Connection {
  return new Proxy(connection, {
    get(target, property): unknown {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      if (typeof property === 'symbol' || !OPERATIONS.has(property)) return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        const fault = faults.take(property as Operation);
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

/** An application on a memory connection that meets what `faults` plans for it. */
export function faultyApplication(): FaultyApplication {
  const application = testApplication();
  const faults = new Faults();
  application.manager.addConnector('memory', (config, context) => faulty(connectMemory(config, context), faults));
  return { ...application, faults, connection: application.manager.driver() };
}
