/** What `Queue.configure` and `onqueue.config.*` take: the connections, and what all of them share. */
import type { Container } from '../../container/container';
import type { Class } from '../../base/class';
import type { Logger } from '../../base/logger';
import type { ConnectionConfig, Size } from '../../connections/configs';
import type { HistoryConfig } from '../../operations/history/job-histories';

/** One of the names, where the compiler knows which text it is; one from outside is checked when it is used. */
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
  /** Connections by name. Default: Redis at `REDIS_URL` where that is set, otherwise a SQLite file in the project's folder. */
  readonly connections?: { readonly [K in Name]: ConnectionConfig } | undefined;
  /** The connection that is meant where none is named; may come from the environment. Default: the only one there is; required with several. */
  readonly default?: NameOrText<Name, Default> | undefined;
  /**
   * The connection that keeps the failed jobs of connections without a failed store of their own. Or `{ connection, keep }`:
   * of each queue the newest `keep` (10,000; `Infinity` for all) are kept in each store, and about a hundredth more at times.
   * Default: `default`.
   */
  readonly failed?: NameOrText<Name, Failed> | FailedConfig<NameOrText<Name, Failed>> | undefined;
  /**
   * The connection that keeps schedules, and what is seen of jobs: histories, results, figures, workers. Default: each connection its
   * own; for one that cannot, that of `failed`.
   */
  readonly operations?: NameOrText<Name, Operations> | undefined;
  /**
   * What is kept of the attempts of jobs for `Queue.find()`: `{ completed: '1h', sourceLines: false }`; `false`: nothing. Default: for
   * 7 days those that failed, timed out, crashed or were lost, with source lines.
   */
  readonly history?: false | HistoryConfig | undefined;
  /**
   * Whether workers count what becomes of jobs, and bring that to the store that `operations` names, every ten seconds; and whether
   * each keeps a record of itself there, by which others see it. Default: `true`.
   */
  readonly metrics?: boolean | undefined;
  /** How large the text of a job may be on connections that say nothing themselves: bytes, or `'4mb'`. Default: `'1mb'`. */
  readonly maxPayload?: Size | undefined;
  /**
   * Classes of jobs, handlers and middleware, for bundlers that drop what is imported for its effect only. Default: none, for
   * importing a decorated class is enough.
   */
  readonly jobs?: readonly Class[] | undefined;
  /** What injects. Default: tsyringe's root container. */
  readonly container?: Container | undefined;
  /** Shaped like pino's: `debug`, `info`, `warn`, `error`. Default: lines on standard error; none under Jest. */
  readonly logger?: Logger | undefined;
  /**
   * Ends what the configuration has opened, such as the application that `container` asks. Called by `Queue.close()`, and at
   * the end of a command, when workers have stopped and connections are closed; waited for, for 10 s at most. Default: none.
   */
  readonly close?: (() => unknown) | undefined;
}

/**
 * Types a configuration where it stands: `export default defineConfig({ … })`, or a function that gives one, which may be
 * async: `export default defineConfig(async () => ({ … }))`. Commands wait for it; programs call `Queue.configure`.
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
