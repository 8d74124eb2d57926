/**
 * The manager behind a fake: like the program's own, except that its connections are kept in memory, whatever their drivers, and
 * its clock is moved by the test.
 */
import { AsyncResource } from 'node:async_hooks';
import { builtInConnectors } from '../connections/built-in';
import { SyncConnection } from '../connections/sync/sync-connection';
import { withStubs, type Container, type Stub } from '../container/scope';
import { defaultLogger } from '../base/logger';
import type { ErrorContext } from '../connections/application';
import type { Configuration } from '../application/configuration/configuration';
import type { Connection, SyncRunner } from '../connections/contract';
import type { Connectors } from '../connections/driver';
import { Outbox } from '../dispatch/pending-dispatch';
import { QueueManager } from '../application/queue-manager';
import type { TestClock } from './test-clock';

/** Lets a test assert right after a dispatch, before the microtask that sends it. */
class FakeOutbox extends Outbox {
  readonly #waiting = new Set<() => unknown>();

  override send<T>(begin: () => Promise<T> | T): Promise<T> {
    let begun: Promise<T> | undefined;
    const beginOnce = AsyncResource.bind(() => (begun ??= (async () => begin())()));
    this.#waiting.add(beginOnce);
    return super.send(() => {
      this.#waiting.delete(beginOnce);
      return beginOnce();
    });
  }

  /** Sends the dispatches that wait for their microtask. */
  sendNow(): void {
    for (const begin of this.#waiting) begin();
    this.#waiting.clear();
  }
}

export interface FakeManagerParts {
  readonly clock: TestClock;
  readonly stubs: readonly Stub[];
  /** Its hooks, payload fields, error callbacks and mapped commands stay in force. */
  readonly program: QueueManager | undefined;
  /** Undefined: the project's file or the environment, loaded on first use. */
  readonly configuration: Configuration | undefined;
  readonly connect: (name: string) => Connection;
}

export class FakeManager extends QueueManager {
  /** Errors that changed no outcome: from hooks, from `failed()`, or from a handler after its outcome was decided. */
  readonly reported: unknown[] = [];
  override readonly outbox = new FakeOutbox();
  readonly #parts: FakeManagerParts;
  readonly #opened = new Map<string, Connection>();
  #sync: SyncRunner | undefined;
  #stubbed: { readonly given: Container | undefined; readonly container: Container | undefined } | undefined;

  constructor(parts: FakeManagerParts) {
    const { clock, configuration, program } = parts;
    const connectors = connectorsFor(configuration);
    super({ connectors, logger: program?.logger ?? defaultLogger(), clock }, configuration);
    this.#parts = parts;
    if (program !== undefined) this.#takeOver(program);
  }

  override get container(): Container | undefined {
    const given = super.container;
    if (this.#stubbed === undefined || this.#stubbed.given !== given) {
      this.#stubbed = { given, container: withStubs(given, this.#parts.stubs) };
    }
    return this.#stubbed.container;
  }

  override driver(name: string = this.defaultConnection): Connection {
    const connection = this.#opened.get(name) ?? this.#parts.connect(this.settings(name).name);
    this.#opened.set(name, connection);
    return connection;
  }

  // The code under test continues with the result of `dispatchSync`, so the job runs as in production.
  override syncRunner(): SyncRunner {
    const { clock, logger } = this;
    return (this.#sync ??= new SyncConnection({
      ...this.settings('sync'),
      clock,
      logger,
      root: process.cwd(),
      origin: undefined,
      manager: this,
    }));
  }

  override report(error: unknown, context: ErrorContext): void {
    this.reported.push(error);
    super.report(error, context);
  }

  #takeOver(program: QueueManager): void {
    this.hooks.adopt(program.hooks);
    if (program.hearsErrors) this.onError((error, context) => program.report(error, context));
    for (const creator of program.payloadCreators) this.createPayloadUsing(creator);
    for (const observer of program.observers) if (observer !== program.counters) this.observers.add(observer);
    for (const [command, handler] of program.commandHandlers) this.commandHandlers.set(command, handler);
  }
}

// The fake calls no connector. It only lists them, because an unknown driver would be a mistake.
function connectorsFor(configuration: Configuration | undefined): Connectors {
  const used = Object.values(configuration?.connections ?? {}).map(({ driver }) => driver);
  const own = Object.fromEntries(used.map((driver) => [driver, builtInConnectors.memory]));
  return { ...own, ...builtInConnectors };
}
