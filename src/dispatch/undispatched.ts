/** What `dispatchIf(false)` gives: takes every builder call, sends nothing, and is undefined when it is awaited. */
import { inspect } from 'node:util';
import type { PendingDispatch } from '../job/dispatcher';

export class Undispatched implements PendingDispatch<undefined> {
  readonly [Symbol.toStringTag] = 'PendingDispatch';

  onConnection(_connection: string): this {
    return this;
  }

  onQueue(_queue: string): this {
    return this;
  }

  delay(_delay: unknown): this {
    return this;
  }

  withoutDelay(): this {
    return this;
  }

  through(..._middleware: readonly unknown[]): this {
    return this;
  }

  afterCommit(): this {
    return this;
  }

  beforeCommit(): this {
    return this;
  }

  using(_transaction: unknown): this {
    return this;
  }

  then<Fulfilled = undefined, Rejected = never>(
    onFulfilled?: ((id: undefined) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return Promise.resolve(undefined).then(onFulfilled, onRejected);
  }

  catch<Rejected = never>(
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<undefined | Rejected> {
    return Promise.resolve(undefined).catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<undefined> {
    return Promise.resolve(undefined).finally(onFinally);
  }

  [inspect.custom](): string {
    return 'PendingDispatch(nothing: its condition did not hold)';
  }
}
