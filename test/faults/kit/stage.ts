/** The stage of a fault: a store, worker processes on it, the ledger that they write, and the processes that were disturbed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import type { Milliseconds } from '../../../src/base/clock';
import { JobBus } from '../../../src/dispatch/bus';
import {
  builtInConnectors,
  type Configuration,
  type ConnectionConfig,
  QueueManager,
  silentLogger,
} from '../../../src/index';
import type { FailedEntry } from '../../../src/connections/failed-store';
import { registry } from '../../../src/job/registry';
import { readCounters } from '../../../src/payload/counters';
import { encodePayload } from '../../../src/payload/payload-text';
import { uuidv7 } from '../../../src/payload/uuid';
import type { Connection } from '../../../src/connections/contract';
import { QueueUnavailableError } from '../../../src/connections/errors';
import type { WorkerOptions } from '../../../src/worker/worker-options';
import { allJobs } from '../../support/all-jobs';
import { eventually } from '../../support/eventually';
import { startBeanstalkd } from '../../support/beanstalkd-server';
import { Project } from '../../support/project';
import { startMariadbServer } from '../../support/mariadb-server';
import { startPostgresServer } from '../../support/postgres-server';
import { RedisCluster } from '../../support/redis-cluster';
import { type RedisServer, startRedisServer } from '../../support/redis-server';
import { account, type Account, type Expectations, type Holdings } from './accounting';
import { type Event, Ledger } from './ledger';
import { TOLD } from './programs/jobs';
import { WorkerProcess } from './worker-process';

export type StoreName = 'redis' | 'cluster' | 'sqlite' | 'beanstalkd' | 'postgres' | 'mysql';

/** Servers that a stage starts for itself. Databases get their tables. */
const SERVERS: { readonly [Name in StoreName]?: () => Promise<OwnServer> } = {
  postgres: startPostgresServer,
  mysql: startMariadbServer,
  beanstalkd: startBeanstalkd,
  cluster: startCluster,
};

interface OwnServer {
  readonly url: string;
  /** Of its files, if they hold what the store has. */
  readonly folder?: string;
  stop(): Promise<void>;
}

/** A cluster, configured by one of its nodes. */
async function startCluster(): Promise<OwnServer> {
  const cluster = await RedisCluster.start();
  return { url: cluster.urls[0]!, stop: () => cluster.stop() };
}

export interface StageOptions {
  /** Seconds that a silent worker keeps its jobs. Default: that of the connection, which no test waits for. */
  readonly lease?: number | undefined;
  /** Seconds that a call waits for its answer. Default: that of the connection. */
  readonly deadline?: number | undefined;
  /** Default: one of its own, which is stopped with it. */
  readonly redis?: Server | undefined;
  /** Whether there is a second connection to the same store: 'other'. */
  readonly hasOther?: boolean | undefined;
  readonly encryption?: Configuration['encryption'];
}

type Server = Pick<RedisServer, 'url' | 'port' | 'stop'> & { readonly folder?: string };

interface Hiring {
  /** Seconds that this worker keeps its jobs when it goes silent, if it should but others should not. */
  readonly lease?: number;
  readonly endsProcess?: boolean;
  readonly events?: readonly Event[];
  /** Milliseconds by which its clock is ahead. */
  readonly skew?: number;
  /** Schedules that it declares, of jobs that write their occurrences to the ledger. */
  readonly schedules?: readonly { readonly name: string; readonly every: string; readonly overlap: string }[];
  /** Whether it freezes as soon as a reserve has brought it a job. */
  readonly freezes?: boolean;
  /** Kills or freezes it at its first settle, or at this push of a page of a batch, from 1. */
  readonly halts?: {
    readonly by: 'SIGKILL' | 'SIGSTOP';
    readonly when: 'before' | 'after';
    readonly page?: number | undefined;
  };
}

/** More jobs than a queue of a test contains. */
const ALL = 10_000_000;
const PROGRAMS = ['worker', 'dispatcher', 'sender', 'jobs', 'pen'];
const SENDERS = 3;
const swc = require('../../support/swc.cjs') as object;

export class Stage {
  readonly ledger: Ledger;
  readonly manager: QueueManager;
  /** Dispatches without remembering ids, for jobs too many to be accounted for one by one. */
  readonly bus: JobBus;
  /** Ids of all jobs whose dispatch was confirmed, in order. */
  readonly dispatched: string[] = [];
  /** Ids of jobs whose dispatch ended without an answer. They may exist or not. */
  readonly uncertain: string[] = [];
  /** Processes that may lose a job without a fault of ours. */
  readonly disturbed = new Set<number>();
  /** Undefined on other stores. */
  readonly redis: Server | undefined;
  readonly #server: OwnServer | undefined;
  /** The address of the store for worker processes. A test can set that of a proxy. */
  config: ConnectionConfig;
  /** Of the processes that are hired next. */
  encryption: Configuration['encryption'];
  readonly #hasOther: boolean;
  readonly #project: Project;
  readonly #processes = new Set<WorkerProcess>();
  #isClosed = false;

  private constructor(
    project: Project,
    store: StoreName,
    { redis, server }: { readonly redis?: Server | undefined; readonly server?: OwnServer | undefined },
    { lease, deadline, hasOther = false, encryption }: StageOptions,
  ) {
    this.#project = project;
    this.redis = redis;
    this.#server = server;
    this.#hasOther = hasOther;
    this.encryption = encryption;
    const settings = {
      ...(lease !== undefined && { retryAfter: lease }),
      ...(deadline !== undefined && { deadline }),
    };
    const url = redis?.url ?? server?.url ?? `sqlite:${join(project.folder, 'jobs.sqlite')}`;
    const driver = store === 'redis' || store === 'beanstalkd' ? store : 'database';
    this.config = store === 'cluster' ? { driver: 'redis', cluster: [url], ...settings } : { driver, url, ...settings };
    this.ledger = new Ledger(join(project.folder, 'ledger'));
    const environment = { connectors: builtInConnectors, logger: silentLogger };
    this.manager = new QueueManager(environment, this.#configured(this.config));
    this.bus = new JobBus(() => this.manager);
  }

  static async open(store: StoreName, options: StageOptions = {}): Promise<Stage> {
    const redis = store === 'redis' ? (options.redis ?? (await startRedisServer())) : undefined;
    const server = await SERVERS[store]?.();
    const project = new Project();
    project.linkPackage();
    for (const name of PROGRAMS) {
      const file = join(__dirname, 'programs', `${name}.ts`);
      const { code } = transformSync(readFileSync(file, 'utf8'), { ...swc, filename: file });
      writeFileSync(join(project.folder, `${name}.js`), code);
    }
    const stage = new Stage(project, store, { redis, server }, options);
    if (server !== undefined) await stage.driver.migrations?.run();
    return stage;
  }

  /** Those in which the store and the processes have their files. */
  get folders(): readonly string[] {
    return [this.#project.folder, this.redis?.folder ?? [], this.#server?.folder ?? []].flat();
  }

  get driver(): Connection {
    return this.manager.driver();
  }

  /**
   * Starts a worker process, which reserves as soon as it is up. `endsProcess` is as for the command. `events` limits
   * the events that it writes.
   */
  hire(
    options: WorkerOptions = {},
    { lease, events, freezes, halts, skew, schedules, ...internal }: Hiring = {},
  ): WorkerProcess {
    // A soak that breaks off may go on elsewhere. A process that nobody ends would keep it from ending.
    if (this.#isClosed) throw new Error('the stage is closed');
    const config = lease === undefined ? this.config : { ...this.config, retryAfter: lease };
    const orders = {
      configuration: this.#configured(config),
      options,
      internal,
      ledger: this.ledger.file,
      events,
      freezes,
      halts,
      skew,
      schedules,
    };
    const hired = new WorkerProcess(join(this.#project.folder, 'worker.js'), orders);
    this.#processes.add(hired);
    void hired.exited.then(() => this.#processes.delete(hired));
    return hired;
  }

  /** Starts a process that dispatches unique jobs and ends. */
  hireDispatcher(orders: {
    readonly number: number;
    readonly dispatches: number;
    readonly others: number;
  }): WorkerProcess {
    const configuration = { connections: { store: this.config } };
    const program = join(this.#project.folder, 'dispatcher.js');
    return new WorkerProcess(program, { configuration, ledger: this.ledger.file, ...orders });
  }

  /**
   * Starts three processes that dispatch `count` jobs, a share each, while others are run. Returns a function that resolves once all
   * are dispatched.
   */
  hireSenders(orders: {
    readonly job: 'InLane' | 'Take' | 'BrisklyMetered';
    readonly milliseconds: Milliseconds;
    readonly count: number;
    readonly lanes?: number;
  }): () => Promise<void> {
    const configuration = { connections: { store: this.config } };
    const program = join(this.#project.folder, 'sender.js');
    const senders = Array.from({ length: SENDERS }, () => {
      const own = { ...orders, count: Math.ceil(orders.count / SENDERS) };
      return new WorkerProcess(program, { configuration, ledger: this.ledger.file, ...own });
    });
    return async () => {
      for (const { exited } of senders) {
        const { code } = await exited;
        if (code !== 0) throw new Error(`a process that dispatches jobs ended with ${code}`);
      }
      this.dispatched.push(...this.ledger.lines.filter(({ event }) => event === 'sent').map(({ id }) => id));
    };
  }

  /** Releases jobs that stall until they are told. */
  tell(): void {
    this.#project.write(TOLD, '');
  }

  async dispatch(jobs: Iterable<object>): Promise<readonly string[]> {
    const ids = await this.bus.bulk(jobs);
    this.dispatched.push(...ids);
    return ids;
  }

  /**
   * Dispatches to a store that may be away and remembers the result: a job that was certainly refused must never run.
   * Resolves with whether the store has confirmed it.
   */
  async tryDispatch(jobs: readonly object[]): Promise<boolean> {
    const ids = jobs.map(() => uuidv7());
    const entries = jobs.map((job, index) => ({ payload: payloadOf(job, ids[index]!) }));
    try {
      await this.driver.push('default', entries);
      this.dispatched.push(...ids);
      return true;
    } catch (error) {
      if (!(error instanceof QueueUnavailableError)) throw error;
      if (error.facts.uncertain === true) this.uncertain.push(...ids);
      return false;
    }
  }

  /** Resolves when nothing is ready, delayed or reserved. */
  async drained(): Promise<void> {
    await eventually(async () => (await this.manager.connection().size()) === 0, { of: 'the end of all jobs' });
  }

  /** Stops all processes cleanly, so that the ledger contains everything that they have settled. */
  async dismiss(): Promise<void> {
    await Promise.all([...this.#processes].map((one) => one.terminate()));
  }

  async account(expected: Pick<Expectations, 'firstTries'> = {}): Promise<Account> {
    const { dispatched, uncertain, disturbed } = this;
    return account(this.ledger.lines, await this.#holdings(), { ...expected, dispatched, uncertain, disturbed });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#processes].map((one) => one.kill()));
    await this.manager.close();
    await this.redis?.stop();
    await this.#server?.stop();
    this.ledger.close();
    this.#project.remove();
  }

  #configured(store: ConnectionConfig): Configuration {
    const { encryption } = this;
    const connections = this.#hasOther ? { store, other: store } : { store };
    return { default: 'store', connections, ...(encryption && { encryption }) };
  }

  async #holdings(): Promise<Holdings> {
    const idOf = ({ payload }: { readonly payload: Buffer }): string =>
      (JSON.parse(payload.toString()) as { id: string }).id;
    const crashesOf = ({ id, payload }: FailedEntry): [string, number] => [id, readCounters(payload)!.counters.crashes];
    const states = this.driver.queues.peek ? (['ready', 'delayed', 'reserved'] as const) : [];
    const waiting = await Promise.all(states.map((state) => allJobs(this.driver, 'default', state)));
    // A job that cannot be shown counts as lost.
    const failed = (await this.driver.failed?.list({ limit: ALL })) ?? [];
    return { waiting: new Set(waiting.flat().map(idOf)), failed: new Map(failed.map(crashesOf)) };
  }
}

function payloadOf(job: object, id: string): string {
  const definition = registry().definitionOf(job.constructor);
  if (definition === undefined) throw new Error(`${job.constructor.name} is no job`);
  return encodePayload({ definition, job, chosen: {}, id, classes: registry() });
}
