/** What all our connections share: they end once, and refuse later calls and capabilities that their store lacks. */
import type { Capability } from '../driver';
import { CapabilityError, ConnectionClosedError } from '../errors';

export abstract class StoreConnection {
  abstract readonly driver: string;
  #closing: Promise<void> | undefined;

  /** @param name its name in the configuration */
  constructor(readonly name: string) {}

  close(): Promise<void> {
    this.#closing ??= this.end();
    return this.#closing;
  }

  /** Closes what is open. Called once. */
  protected abstract end(): Promise<void>;

  protected checkOpen(operation: string): void {
    if (this.#closing !== undefined) throw new ConnectionClosedError(this.name, operation);
  }

  /**
   * A part of the connection whose functions first check that the connection is open. All of them have to return promises.
   *
   * @param name for errors: `failed`
   */
  protected whileOpen<Part extends object>(name: string, part: Part): Part {
    const members = part as Record<string, (...given: readonly unknown[]) => unknown>;
    const guarded = Object.create(part) as typeof members;
    for (const key of [part, Object.getPrototypeOf(part) as object].flatMap((own) => Object.getOwnPropertyNames(own))) {
      if (key in Object.prototype || typeof members[key] !== 'function') continue;
      guarded[key] = async (...given) => {
        this.checkOpen(`${name}.${key}`);
        return members[key]!(...given);
      };
    }
    return guarded as Part;
  }

  /** A closed connection reports that first: another driver would not help. */
  protected lacks(operation: string, capability: Capability): Error {
    this.checkOpen(operation);
    return new CapabilityError(this.name, this.driver, capability);
  }
}
