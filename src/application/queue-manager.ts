/**
 * The queues of one application: its configuration, its connections by name, and its hooks. `Queue` is a facade over a manager; a
 * program may create more, and so have two applications in one process. Nothing is opened before its first use.
 */
import {
  type Application,
  inRootContext,
  checkObserver,
  type ErrorContext,
  type MaskingJob,
  type Observer,
  type ConnectionSettings,
  type OperationsConnection,
} from '../connections/application';
import { systemClock, systemRandom, type Clock, type Random } from '../base/clock';
import { callerOf, callFrom, type Container } from '../container/scope';
import { checkHook, Hooks } from '../job/hooks';
import { FailedJobs } from './failed/failed-jobs';
import { registry, type JobInstance, type JobRegistry } from '../job/registry';
import type { Class } from '../base/class';
import type { Duration } from '../job/duration';
import type { JobContext } from '../job/job-context';
import { Lock } from './lock';
import { Batches } from '../dispatch/batch/batch';
import { GuardedLogger, type Logger } from '../base/logger';
import { FAILED_KEYS, type Configuration, type FailedConfig } from './configuration/configuration';
import { olderMemberOf, type Drivers, type Connector, type Connectors } from '../connections/driver';
import { noRecords } from '../operations/errors';
import { isSyncRunner, type Connection, type SyncRunner } from '../connections/contract';
import {
  alreadyConfigured,
  managerClosed,
  misnamedConnection,
  olderDriver,
  unknownDriver,
  ConfigurationError,
} from './errors';
import { CapabilityError } from '../connections/errors';
import { ErrorReports, type ErrorCallback } from './error-reports';
import {
  localRemark,
  nameStore,
  PresentConfiguration,
  settingsIn,
  saysTheSame,
  type ConfigurationSources,
  type LoadedConfiguration,
} from './configuration/loaded-configuration';
import { JobEncoder, type PayloadCreator } from '../dispatch/job-encoder';
import { Routes, type JobRoute } from '../dispatch/routes';
import type { EntityAdapter } from '../payload/entities';
import type { Vault } from '../payload/vault';
import { Outbox } from '../dispatch/pending-dispatch';
import { QueueConnection } from '../dispatch/queue-connection';
import { JobCounters } from '../operations/figures/job-counters';
import type { PendingSchedule } from '../schedule/schedule';
import { Schedules } from '../schedule/schedules';
import { QueueMonitors } from '../operations/figures/queue-sampler';
import { disconnect, settle, type Closable } from './shutdown';

/** The parts of a manager. */
export interface QueueEnvironment {
  readonly connectors: Connectors;
  /** Used if the configuration has no logger. */
  readonly logger: Logger;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /** The project is searched from here upward. Default: the working folder. */
  readonly folder?: string | undefined;
  /** Loaded instead of the project's `onqueue.config.*`. */
  readonly configFile?: string | undefined;
  /** Default: `process.env`. */
  readonly variables?: Readonly<NodeJS.ProcessEnv> | undefined;
}

export class QueueManager implements Application {
  readonly registry: JobRegistry = registry();
  readonly clock: Clock;
  readonly random: Random;
  readonly hooks: Hooks = new Hooks((error, { hook }) => this.report(error, { during: `the hook ${hook}` }));
  readonly routes = new Routes();
  readonly failed: FailedJobs = new FailedJobs(this);
  readonly batches: Batches = new Batches(this);
  readonly encoder: JobEncoder = new JobEncoder(this);
  readonly schedules: Schedules = new Schedules(this);
  /** Counts what became of jobs in this process. */
  readonly counters = new JobCounters(this.registry);
  readonly observers = new Set<Observer>([this.counters]);
  /** Limits of queues, to report those that are too long or too slow. */
  readonly monitors = new QueueMonitors(() => this.defaultConnection);
  readonly payloadCreators = new Set<PayloadCreator>();
  /** Dispatched jobs that have not yet arrived in their stores. */
  readonly outbox: Outbox = new Outbox();
  readonly commandHandlers = new Map<Class, Class>();
  /** A user's logger that throws must not change an outcome or a call to a store. */
  readonly logger: Logger;
  readonly #guarded: GuardedLogger;

  readonly #environment: QueueEnvironment;
  readonly #connectors: Map<string, Connector>;
  readonly #drivers = new Map<string, Connection>();
  readonly #connections = new Map<string, QueueConnection>();
  readonly #errors: ErrorReports;
  readonly #closables = new Set<Closable>();
  readonly #configuration = new PresentConfiguration(
    () => this.#sources(),
    (loaded) => {
      for (const { connection, job } of this.routes.connections()) checkRoute(loaded, job, connection);
      this.#guarded.target = loaded.configuration.logger ?? this.#environment.logger;
      if (loaded.configuration.metrics === false) this.observers.delete(this.counters);
      else this.observers.add(this.counters);
    },
  );
  #closing: Promise<void> | undefined;
  #isStoreNamed = false;
  #closed = false;

  /** @param configuration default: the project's `onqueue.config.*` or the environment, loaded on first use */
  constructor(environment: QueueEnvironment, configuration?: Configuration) {
    this.#environment = checkedEnvironment(environment);
    this.logger = this.#guarded = new GuardedLogger(environment.logger);
    this.#errors = new ErrorReports(this.logger);
    this.clock = environment.clock ?? systemClock;
    this.random = environment.random ?? systemRandom;
    this.#connectors = new Map(Object.entries(environment.connectors) as [string, Connector][]);
    if (configuration !== undefined) this.configure(configuration);
  }

  /**
   * Replaces the configuration, as long as none of its connections was used. An equal one changes nothing, as when the module
   * that calls this is evaluated again.
   *
   * @throws ConfigurationError names every mistake
   * @throws E_ALREADY_CONFIGURED
   */
  configure(configuration: Configuration): void {
    this.#checkOpen();
    if (this.#drivers.size > 0) {
      const { configuration: present, source } = this.#configuration.get();
      if (saysTheSame(present, configuration)) return;
      throw alreadyConfigured([...this.#drivers.keys()], source);
    }
    this.#configuration.replace(configuration);
    this.#connections.clear();
  }

  /**
   * Loads the configuration, and waits for it if an async function returns it.
   *
   * @throws ConfigurationError, E_CONFIG_FILE, E_TYPESCRIPT_LOADER
   */
  ready(): Promise<void> {
    return this.#configuration.ready();
  }

  get configuration(): Configuration {
    return this.#configuration.get().configuration;
  }

  /** For people: the configuration's file, or what replaced it. */
  get configurationSource(): string {
    return this.#configuration.get().source;
  }

  get isConfigured(): boolean {
    return this.#configuration.loaded !== undefined;
  }

  get container(): Container | undefined {
    return (this.#configuration.loaded ?? this.#configuration.get()).configuration.container;
  }

  get vault(): Vault {
    // Directly, as the container and the settings: each job asks for all three.
    return (this.#configuration.loaded ?? this.#configuration.get()).vault;
  }

  get entities(): readonly EntityAdapter[] {
    return this.configuration.entities ?? [];
  }

  /** The connection that is used if none is named. */
  get defaultConnection(): string {
    return this.#configuration.get().defaultConnection;
  }

  connectionNames(): readonly string[] {
    return [...this.#configuration.get().settings.keys()];
  }

  /** @throws E_UNKNOWN_CONNECTION */
  settings(name?: string): ConnectionSettings {
    const loaded = this.#configuration.loaded ?? this.#configuration.get();
    return loaded.settings.get(name ?? loaded.defaultConnection) ?? settingsIn(loaded, name);
  }

  connection(name: string = this.defaultConnection): QueueConnection {
    const known = this.#connections.get(name);
    if (known !== undefined) return known;
    const connection = new QueueConnection(this.settings(name), this);
    this.#connections.set(name, connection);
    return connection;
  }

  get drivers(): Iterable<Connection> {
    return this.#drivers.values();
  }

  /** @throws E_MANAGER_CLOSED, E_UNKNOWN_CONNECTION, E_UNKNOWN_DRIVER, and what the connector throws */
  driver(name: string = this.defaultConnection): Connection {
    if (this.#closed) throw managerClosed();
    const open = this.#drivers.get(name);
    if (open !== undefined) return open;
    const settings = this.settings(name);
    const { connections, root, origin, notice } = this.#configuration.get();
    const connector = this.#connectors.get(settings.driver);
    if (connector === undefined) throw unknownDriver(settings.driver, name, [...this.#connectors.keys()]);
    const { clock, logger } = this;
    const context = { ...settings, clock, logger, root, origin, manager: this };
    const driver = inRootContext(() => connector(connections[name] ?? { driver: 'sync' }, context), this);
    // Settings and failed jobs are found by this name.
    if (driver.name !== name) throw misnamedConnection(name, driver.name, settings.driver);
    const older = olderMemberOf(driver);
    if (older !== undefined) throw olderDriver(name, settings.driver, older);
    this.#drivers.set(name, driver);
    // Logs a store that nobody chose, on its first use. `sync` is not a store.
    if (notice !== undefined && Object.hasOwn(connections, name)) this.#tellOfStore(notice);
    else if (name === this.defaultConnection) this.#tellOfStore(localRemark(name, connections[name], this.#variables));
    return driver;
  }

  /** The connection that runs jobs at once; exists even if it is not configured. */
  syncRunner(): SyncRunner {
    const driver = this.driver('sync');
    if (isSyncRunner(driver)) return driver;
    throw new CapabilityError(driver.name, driver.driver, 'reserve');
  }

  /** Registers a connector for a driver of your own, before its first use. */
  addConnector<Driver extends keyof Drivers>(driver: Driver, connector: Connector<Drivers[Driver]>): void {
    checkHook('addConnector', connector, `'${driver}', `);
    this.#connectors.set(driver, connector as Connector);
  }

  /** The connection that keeps failed jobs for connections that cannot. */
  get failedConnection(): string {
    return this.#failed.connection ?? this.defaultConnection;
  }

  /** The connection that keeps the records of this one. Undefined if none does. */
  operationsOf(connection: Connection): OperationsConnection | undefined {
    const { operations: named } = this.configuration;
    if (named !== undefined) return keepingRecords(this.driver(named));
    return keepingRecords(connection) ?? keepingRecords(this.driver(this.failedConnection));
  }

  /** Like `operationsOf`, but never undefined. @throws E_NO_RECORDS */
  neededOperationsOf(connection: Connection, job?: string): OperationsConnection {
    const found = this.operationsOf(connection);
    if (found === undefined) throw noRecords(this.configuration.operations ?? connection.name, job);
    return found;
  }

  /** How many failed jobs are kept for each queue. */
  get keptFailures(): number {
    return this.#failed.keep ?? FAILED_KEYS.keep.default;
  }

  get #failed(): FailedConfig {
    const { failed } = this.configuration;
    return typeof failed === 'object' ? failed : { connection: failed };
  }

  /** @throws CapabilityError the connection cannot hold locks */
  lock(name: string, ttl: Duration, connection?: string): Lock {
    const store = (): NonNullable<Connection['locks']> => {
      const driver = this.driver(connection);
      if (driver.locks === undefined) throw new CapabilityError(driver.name, driver.driver, 'locks');
      return driver.locks;
    };
    return new Lock(name, ttl, store, this.clock);
  }

  /** Declares a schedule, like `Queue.schedule`. @throws E_INVALID_SCHEDULE */
  schedule(make: () => JobInstance): PendingSchedule {
    // oxlint-disable-next-line typescript/unbound-method -- only looked for on the stack
    return this.schedules.declare(make, QueueManager.prototype.schedule);
  }

  /** Sets where jobs of a class go if they choose nothing themselves. */
  route(job: Class, route: JobRoute): void {
    const loaded = this.#configuration.loaded;
    this.routes.set(job, route, loaded && ((connection) => checkRoute(loaded, job, connection)));
  }

  /** Adds fields to every payload from now on. Returns the function that removes the creator. */
  createPayloadUsing(creator: PayloadCreator): () => void {
    checkHook('createPayloadUsing', creator);
    return added(this.payloadCreators, creator);
  }

  /** Shows jobs to `observer` from now on. Returns the function that removes it. @throws E_INVALID_OBSERVER */
  observe(observer: Observer): () => void {
    checkObserver(observer);
    return added(this.observers, observer);
  }

  /** Calls back with errors that nobody awaits. Returns the function that removes the callback. */
  onError(callback: ErrorCallback): () => void {
    return this.#errors.on(callback);
  }

  get hearsErrors(): boolean {
    return this.#errors.areHeard;
  }

  report(error: unknown, context: ErrorContext): void {
    const { job } = context;
    this.#errors.report(job === undefined ? error : maskedFor(job, error), context);
  }

  /**
   * Makes `close()` stop the given object. Returns the function that undoes this.
   *
   * @throws E_MANAGER_CLOSED too late: nobody would stop the object, and it would go on without connections
   */
  track(closable: Closable): () => void {
    this.#checkOpen();
    return added(this.#closables, closable);
  }

  /**
   * Sends what was dispatched and not awaited, stops this process's workers, then closes the connections. Each step has a
   * deadline, after which the next one follows; errors are reported. May be called any number of times.
   *
   * Resolves at once if called from a job or a hook that one of those workers waits for, or from `close()` of the configuration.
   */
  close(): Promise<void> {
    const closed = this.closed();
    return this.isCaller ? Promise.resolve() : closed;
  }

  /** Whether it, or one of its workers, waits for the code that asks. */
  get isCaller(): boolean {
    return callerOf() === this || [...this.#closables].some(({ isCaller }) => isCaller === true);
  }

  /** Like `close()`, but always resolves at the end. */
  closed(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await settle(this, this.#closables);
    this.#closed = true;
    const last = this.#configuration.loaded?.configuration.close;
    // The application that it ends may call `close()` in its own shutdown.
    await disconnect(this, last && (() => callFrom(this, last)));
  }

  /** Another process has already logged the store that nobody chose. */
  leaveStoreUnnamed(): void {
    this.#isStoreNamed = true;
  }

  #tellOfStore(notice: string | undefined): void {
    // Neither the next manager after Queue.close() nor another connection logs it again.
    if (!this.#isStoreNamed && notice !== undefined) nameStore(notice, this.logger, this.#variables);
  }

  get #variables(): Readonly<NodeJS.ProcessEnv> {
    return this.#environment.variables ?? process.env;
  }

  #sources(): ConfigurationSources {
    // A dispatch that was not awaited may be the first to need the configuration, and close() waits for it.
    if (this.#closed) throw managerClosed();
    const { folder = process.cwd(), configFile, variables = process.env, logger } = this.#environment;
    const drivers = [...this.#connectors.keys()];
    return { folder, configFile, variables, logger, drivers, registry: this.registry };
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw managerClosed();
  }
}

/** What a running job threw, without data that nobody may see. */
function maskedFor(job: JobContext & Partial<MaskingJob>, error: unknown): unknown {
  return job.masked === undefined ? error : job.masked(error);
}

function checkRoute(loaded: LoadedConfiguration, job: Class, connection: string): void {
  settingsIn(loaded, connection, `Queue.route() sends ${job.name} there.`);
}

function keepingRecords(connection: Connection): OperationsConnection | undefined {
  return connection.records !== undefined ? (connection as OperationsConnection) : undefined;
}

function added<T>(set: Set<T>, value: T): () => void {
  set.add(value);
  return () => void set.delete(value);
}

const EXAMPLE =
  "new QueueManager({ connectors: builtInConnectors, logger: new ConsoleLogger() }, { connections: { … } }), both from 'onqueue'";

/** The natural mistake is to pass only a configuration, which is the second argument. @throws ConfigurationError */
function checkedEnvironment(environment: QueueEnvironment): QueueEnvironment {
  const given: unknown = environment?.connectors;
  if (typeof given === 'object' && given !== null) return environment;
  const isConfiguration = ['connections', 'default'].some((key) => key in Object(environment));
  const problem = isConfiguration
    ? `missing. The configuration is the second argument: ${EXAMPLE}`
    : `missing; expected an object of connectors by driver: ${EXAMPLE}`;
  throw new ConfigurationError([{ path: 'connectors', problem }], 'the first argument of new QueueManager');
}
