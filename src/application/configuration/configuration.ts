/** What `Queue.configure` and `onqueue.config.*` take: the connections, and what they share. */
import type { Container } from '../../container/container';
import type { Class } from '../../base/class';
import type { Logger } from '../../base/logger';
import type { ConnectionConfig, Size } from '../../connections/driver';
import type { EntityAdapter } from '../../payload/entities';
import type { HistoryConfig } from '../../operations/history/job-histories';

/** One of the names, if the compiler knows the literal text; a name from outside is checked when it is used. */
type NameOrText<Name extends string, Given extends string> = string extends Given ? Given : NoInfer<Name>;

export interface FailedConfig<Name extends string = string> {
  readonly connection?: Name | undefined;
  readonly keep?: number | undefined;
}

export interface Configuration<
  Name extends string = string,
  Default extends string = Name,
  Failed extends string = Name,
  Operations extends string = Name,
> {
  /** Connections by name. Default: Redis at `REDIS_URL` if that is set, otherwise a SQLite file in the project's folder. */
  readonly connections?: { readonly [K in Name]: ConnectionConfig } | undefined;
  /**
   * The connection that is used if none is named; may come from the environment. Default: the only connection; required if there
   * are several.
   */
  readonly default?: NameOrText<Name, Default> | undefined;
  /**
   * The connection that keeps the failed jobs of connections without a failed store of their own. Or `{ connection, keep }`: each
   * store keeps the newest `keep` failed jobs of each queue (10,000; `Infinity` for all), at times about a hundredth more.
   * Default: `default`.
   */
  readonly failed?: NameOrText<Name, Failed> | FailedConfig<NameOrText<Name, Failed>> | undefined;
  /**
   * The connection that keeps schedules and the records of jobs: histories, results, figures, workers. Default: each connection
   * keeps its own; for one that cannot, the connection of `failed`.
   */
  readonly operations?: NameOrText<Name, Operations> | undefined;
  /**
   * What is kept of the attempts of jobs for `Queue.find()`: `{ completed: '1h', sourceLines: false }`; `false`: nothing.
   * Default: attempts that failed, timed out, crashed or were lost, for 7 days, with source lines.
   */
  readonly history?: false | HistoryConfig | undefined;
  /**
   * Whether workers count outcomes of jobs, bring the counts to the store that `operations` names every ten seconds, and keep
   * records of themselves there that others can see. Default: `true`.
   */
  readonly metrics?: boolean | undefined;
  /** The largest payload of a job, for connections that do not set it themselves: bytes, or `'4mb'`. Default: `'1mb'`. */
  readonly maxPayload?: Size | undefined;
  /**
   * Classes of jobs, handlers and middleware, for bundlers that drop imports without used names. Default: none; importing a
   * decorated class is enough.
   */
  readonly jobs?: readonly Class[] | undefined;
  /** The dependency injection container. Default: tsyringe's root container. */
  readonly container?: Container | undefined;
  /** How entities are loaded that jobs carry: adapters from `onqueue/entities`, or your own. Default: none. */
  readonly entities?: readonly EntityAdapter[] | undefined;
  /** A logger in pino's shape: `debug`, `info`, `warn`, `error`. Default: lines on standard error; none under Jest. */
  readonly logger?: Logger | undefined;
  /**
   * Ends what the configuration has opened, such as the application behind `container`. Called by `Queue.close()`, and at the end
   * of a command, after workers have stopped and connections are closed; it may take up to 10 s. Default: none.
   */
  readonly close?: (() => unknown) | undefined;
}

/**
 * Adds types to a configuration: `export default defineConfig({ … })`, or to a function that returns one, which may be async:
 * `export default defineConfig(async () => ({ … }))`. Commands await it; a program passes the result to `Queue.configure`.
 */
export function defineConfig<
  const Name extends string,
  const Default extends string = Name,
  const Failed extends string = Name,
  const Operations extends string = Name,
>(
  configuration: () =>
    | Configuration<Name, Default, Failed, Operations>
    | Promise<Configuration<Name, Default, Failed, Operations>>,
): () => Promise<Configuration<Name, Default, Failed, Operations>>;
export function defineConfig<
  const Name extends string,
  const Default extends string = Name,
  const Failed extends string = Name,
  const Operations extends string = Name,
>(configuration: Configuration<Name, Default, Failed, Operations>): Configuration<Name, Default, Failed, Operations>;
export function defineConfig(
  configuration: Configuration | (() => Configuration | Promise<Configuration>),
): Configuration | (() => Promise<Configuration>) {
  return typeof configuration === 'function' ? async () => configuration() : configuration;
}
