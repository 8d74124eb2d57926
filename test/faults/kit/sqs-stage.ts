/** A stage on SQS: its server runs in the test and is asked directly for its contents, and its failed jobs are in a file. */
import { join } from 'node:path';
import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors, type Configuration, QueueManager, silentLogger } from '../../../src/index';
import { readCounters } from '../../../src/payload/counters';
import type { WorkerOptions } from '../../../src/worker/worker-options';
import { eventually } from '../../support/eventually';
import { Project } from '../../support/project';
import { SqsServer } from '../../support/sqs-server';
import { account, type Account, type Expectations } from './accounting';
import { Ledger } from './ledger';
import { WorkerProcess } from './worker-process';
import { writeWorkerPrograms } from './worker-programs';

const QUEUE = 'default';

export class SqsStage {
  readonly server: SqsServer;
  readonly ledger: Ledger;
  readonly manager: QueueManager;
  readonly dispatched: string[] = [];
  /** Processes that may lose a job without a fault of ours. */
  readonly disturbed = new Set<number>();
  readonly #project: Project;
  readonly #processes = new Set<WorkerProcess>();

  private constructor(server: SqsServer, project: Project) {
    this.server = server;
    this.#project = project;
    this.ledger = new Ledger(join(project.folder, 'ledger'));
    this.manager = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, this.#configuration());
    server.createQueue(QUEUE);
  }

  static async open(): Promise<SqsStage> {
    const project = new Project();
    project.linkPackage();
    writeWorkerPrograms(project.folder);
    return new SqsStage(await SqsServer.start(), project);
  }

  /** @param hiring `lease`: seconds that the worker keeps its jobs when it goes silent. Default: longer than any test */
  hire(
    options: WorkerOptions = {},
    { lease, ...internal }: { readonly lease?: number; readonly endsProcess?: boolean } = {},
  ): WorkerProcess {
    const orders = { configuration: this.#configuration(lease), options, internal, ledger: this.ledger.file };
    const hired = new WorkerProcess(join(this.#project.folder, 'worker.js'), orders);
    this.#processes.add(hired);
    void hired.exited.then(() => this.#processes.delete(hired));
    return hired;
  }

  async dispatch(jobs: Iterable<object>): Promise<readonly string[]> {
    const ids = await new JobBus(() => this.manager).bulk(jobs);
    this.dispatched.push(...ids);
    return ids;
  }

  async drained(): Promise<void> {
    const holds = (): number => this.server.queues.get(QUEUE)!.bodies.length;
    await eventually(() => holds() === 0, { deadline: 150_000, of: 'the end of all jobs' });
  }

  /** Stops all processes cleanly, so that the ledger contains everything that they have settled. */
  async dismiss(): Promise<void> {
    await Promise.all([...this.#processes].map((one) => one.terminate()));
  }

  async account(expected: Pick<Expectations, 'firstTries'> = {}): Promise<Account> {
    const { dispatched, disturbed } = this;
    const waiting = this.server.queues.get(QUEUE)!.bodies.map((body) => (JSON.parse(body) as { id: string }).id);
    const entries = await this.manager.failed.list({ limit: 1_000_000 });
    const failed = new Map(
      entries.map(({ id, payload }) => [id, readCounters(Buffer.from(payload))?.counters.crashes ?? 0]),
    );
    return account(this.ledger.lines, { waiting: new Set(waiting), failed }, { ...expected, dispatched, disturbed });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#processes].map((one) => one.kill()));
    await this.manager.close();
    await this.server.stop();
    this.ledger.close();
    this.#project.remove();
  }

  #configuration(lease = 600): Configuration {
    const { endpoint, prefix } = this.server;
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
    return {
      default: 'store',
      failed: 'kept',
      connections: {
        store: {
          driver: 'sqs',
          region: 'eu-west-1',
          endpoint,
          prefix,
          credentials,
          retryAfter: lease,
          deadline: '60s',
        },
        kept: { driver: 'database', url: `sqlite:${join(this.#project.folder, 'failed.sqlite')}` },
      },
    };
  }
}
