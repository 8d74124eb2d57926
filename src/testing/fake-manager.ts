/**
 * The manager behind a fake: like the program's own, except that its connections are kept in memory, whatever their drivers, and
 * its clock is moved by the test.
 */
import { AsyncResource } from 'node:async_hooks';
import type { Configuration } from '../application/configuration/configuration';
import { QueueManager } from '../application/queue-manager';
import type { Class } from '../base/class';
import { defaultLogger } from '../base/logger';
import type { ErrorContext } from '../connections/application';
import type { NewBatch } from '../connections/batch-store';
import { builtInConnectors } from '../connections/built-in';
import type {
  Connection,
  Entry,
  FollowUp,
  Pushed,
  Settled,
  Settlement,
  SyncRunner,
  Wanted,
  KeyStore,
} from '../connections/contract';
import type { Connectors } from '../connections/driver';
import { entriesFor } from '../connections/entries';
import { MemoryConnection } from '../connections/memory/connection';
import { entryOf, MemoryStore } from '../connections/memory/store';
import { SyncConnection } from '../connections/sync/connection';
import type { Container } from '../container/scope';
import { withStubs, type Stub } from '../container/stubs';
import { Outbox } from '../dispatch/pending-dispatch';
import { targetWithin, type Target } from '../dispatch/send';
import { definitionOfClass } from '../job/instance';
import { BUILT_IN, registry } from '../job/registry';
import { envelopeIn } from '../payload/envelope';
import type { BatchLog, PushLog } from './pushes';
import type { TestClock } from './test-clock';

interface FakeManagerParts {
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
  const used = Object.values(configuration?.connections ?? {}).flatMap((config) => config?.driver ?? []);
  const own = Object.fromEntries(used.map((driver) => [driver, builtInConnectors.memory]));
  return { ...own, ...builtInConnectors };
}

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

export interface FakedJobsOptions {
  /** These and their subclasses are faked; all others go to the real connections. Default: all. */
  readonly only?: readonly Class[] | undefined;
  /** These and their subclasses go to the real connections. Default: none. */
  readonly except?: readonly Class[] | undefined;
}

/** Which jobs a fake keeps. */
export class FakedJobs {
  readonly areAll: boolean;
  readonly #only: readonly Class[] | undefined;
  readonly #except: readonly Class[];

  /** @throws E_UNDECORATED_JOB the class is not a job, so it would never be found */
  constructor({ only, except = [] }: FakedJobsOptions) {
    this.areAll = only === undefined && except.length === 0;
    this.#only = only?.map((job) => definitionOfClass(job).target);
    this.#except = except.map((job) => definitionOfClass(job).target);
  }

  /** A payload without a registered job class is faked, unless `only` is given. */
  has({ payload }: Entry): boolean {
    if (this.areAll) return true;
    // `pushRaw` takes any text.
    return this.hasOneOf(envelopeIn(Buffer.from(payload))?.names ?? []);
  }

  /** @param names those of one job */
  hasOneOf(names: readonly string[]): boolean {
    if (this.areAll) return true;
    // Our own jobs, which send links of a chain on, stay where the link before ended.
    if (names.some((name) => name.startsWith(BUILT_IN))) return true;
    const job = names.map((name) => registry().classOf(name)).find((found) => found !== undefined);
    const isAmong = (classes: readonly Class[]): boolean =>
      classes.some((one) => job !== undefined && (job === one || job.prototype instanceof one));
    return (this.#only === undefined || isAmong(this.#only)) && !isAmong(this.#except);
  }
}

/** The first store of each connection on each clock. */
const firstStores = new WeakMap<TestClock, Map<string, MemoryStore>>();

/** What limits know lasts as long as the clock that they obey: over several `runJob`, and from there into a drain. */
export function keptOn(clock: TestClock, name: string): MemoryStore {
  const stores = firstStores.get(clock) ?? new Map<string, MemoryStore>();
  firstStores.set(clock, stores);
  const store = stores.get(name) ?? new MemoryStore(name, clock);
  stores.set(name, store);
  return store;
}

/** The store of a fake's connection, which outlives it. Logs the jobs that follow others, and the callbacks of batches. */
export class FakeStore extends MemoryStore {
  readonly #name: string;
  readonly #log: PushLog;

  constructor(name: string, clock: TestClock, log: PushLog) {
    super(name, clock, keptOn(clock, name));
    this.#name = name;
    this.#log = log;
  }

  protected override follow(followUp: FollowUp): void {
    super.follow(followUp);
    this.#log.add(this.#name, followUp.queue, [followUp.entry], this.clock.now());
  }
}

interface FakeConnectionParts {
  readonly log: PushLog;
  readonly batchLog: BatchLog;
  readonly faked: FakedJobs;
  /** Where jobs go that are not faked. */
  readonly real: () => Connection;
}

/** Remembers what was pushed, and passes on jobs that are not faked. */
export class FakeConnection extends MemoryConnection {
  readonly #parts: FakeConnectionParts;
  readonly #store: MemoryStore;

  constructor(name: string, store: MemoryStore, parts: FakeConnectionParts) {
    super(name, store);
    this.#parts = parts;
    this.#store = store;
  }

  /** Faked jobs take no part in the transaction: they are pushed at once. */
  within(transaction: unknown): Pick<Connection, 'push'> {
    return {
      push: (queue, entries, begins) =>
        this.#split(queue, entries, () => targetWithin(this.#parts.real(), transaction), begins),
    };
  }

  override push(queue: string, entries: readonly Entry[], begins?: NewBatch): Promise<readonly Pushed[] | void> {
    return this.#split(queue, entries, this.#parts.real, begins);
  }

  /** Only schedules of faked jobs are driven, and a batch is kept as a whole. */
  override readonly keys: KeyStore = this.whileOpen('keys', {
    pushOnce: async (page, once) => {
      const pushed = this.#store.pushOnce(page, once);
      if (typeof pushed !== 'string') this.#log(page.queue, page.entries, pushed, page.begins);
      return pushed;
    },
  });

  /** Jobs that follow and are not faked go to the real connection. */
  override async exchange(settlements: readonly Settlement[], wanted?: Wanted): Promise<Settled> {
    const real = settlements.map((one) => followUpsOf(one).filter(({ entry }) => !this.#isKept(entry)));
    const settled = await super.exchange(
      settlements.map((one, place) => without(one, real[place]!)),
      wanted,
    );
    for (const { queue, entry } of real.flatMap((one, place) => (settled.results[place] === 'lost' ? [] : one))) {
      await this.push(queue, [entry]);
    }
    return settled;
  }

  /** A batch can only be counted in one place, so it is kept as a whole, whichever jobs are faked. */
  #isKept(entry: Entry): boolean {
    const batch = entry.ties?.batch?.id;
    return (batch !== undefined && this.#parts.batchLog.has(batch)) || this.#parts.faked.has(entry);
  }

  async #split(
    queue: string,
    entries: readonly Entry[],
    target: () => Target,
    begins: NewBatch | undefined,
  ): Promise<readonly Pushed[] | void> {
    const { faked } = this.#parts;
    if (begins !== undefined) return this.#keep(queue, entries, begins);
    const kept = entries.filter((entry) => this.#isKept(entry));
    const rest = faked.areAll ? [] : entries.filter((entry) => !kept.includes(entry));
    const inMemory = kept.length === 0 && rest.length > 0 ? undefined : this.#keep(queue, kept);
    if (rest.length === 0) return inMemory;
    const real = target();
    const timed = rest.map((entry) => ({ entry, retryWithin: undefined }));
    const passedOn = await real.push(queue, await entriesFor(real, timed));
    return entries.map((entry) => inMemory?.[kept.indexOf(entry)] ?? passedOn?.[rest.indexOf(entry)] ?? 'queued');
  }

  // Logged before anything is awaited, because an assertion sends what was dispatched and looks at once.
  #keep(queue: string, entries: readonly Entry[], begins?: NewBatch): readonly Pushed[] | undefined {
    this.checkOpen('push');
    const pushed = this.#store.push(queue, entries.map(entryOf), begins);
    this.#log(queue, entries, pushed, begins);
    return pushed;
  }

  #log(
    queue: string,
    entries: readonly Entry[],
    pushed: readonly Pushed[] | undefined,
    begins: NewBatch | undefined,
  ): void {
    const { log, batchLog } = this.#parts;
    const now = this.#store.clock.now();
    if (begins !== undefined) batchLog.begin(this.name, begins, now);
    // Refused jobs were not pushed, neither for an assertion nor for a program.
    const taken = entries.filter((_, place) => isIn(pushed?.[place] ?? 'queued'));
    const logged = log.add(this.name, queue, taken, now);
    for (const [place, one] of (pushed ?? []).entries()) log.skip(this.name, queue, entries[place]!, one, now);
    const batch = entries[0]?.ties?.batch?.id;
    if (batch !== undefined) batchLog.get(batch)?.join(logged);
  }
}

const isIn = (pushed: Pushed): boolean => pushed === 'queued' || 'replaced' in pushed;

const followUpsOf = (settlement: Settlement): readonly FollowUp[] => ('next' in settlement && settlement.next) || [];

const without = (settlement: Settlement, followUps: readonly FollowUp[]): Settlement => {
  const next = followUpsOf(settlement).filter((one) => !followUps.includes(one));
  return followUps.length === 0 ? settlement : ({ ...settlement, next } as Settlement);
};
