/** Runs one job as a worker would, without a queue. */
import { defaultManager } from '../application/default-manager';
import { MemoryStore } from '../connections/memory/store';
import type { Stub } from '../container/stubs';
import type { Batch } from '../dispatch/batch/batch';
import type { HandleResult } from '../job/job';
import type { JobInstance } from '../job/registry';
import { noCounters, withCounters } from '../payload/counters';
import { uuidv7 } from '../payload/uuid';
import { Executor } from '../worker/run';
import type { Outcome } from '../worker/outcome';
import { RunningJob } from '../worker/running-job';
import { keepEndOf } from '../worker/settler';
import { executorSettings, jobRun, type JobRun, type WorkerFlags } from './drain';
import { FakeConnection, FakedJobs, FakeManager, keptOn } from './fake-manager';
import { activeFake } from './fake-queue';
import { batchedJob, BatchLog, PushLog, type BatchedJob } from './pushes';
import { TestClock } from './test-clock';
import { checkRunJobOptions } from './test-options';

export interface RunJobOptions extends WorkerFlags {
  /** Replacements for injected dependencies, by token: `[[Mailer, { send: async () => undefined }]]`. */
  readonly stubs?: readonly Stub[] | undefined;
  /** The jobs that follow it in a chain. */
  readonly chain?: readonly JobInstance[] | undefined;
  /** Whether it belongs to a batch, which is then `this.job.batch`. Default false. */
  readonly batch?: boolean | undefined;
  /** The number of this attempt: 3 means two failed attempts before it. Default 1. */
  readonly attempts?: number | undefined;
  /** For timeouts and moments. Default: the clock of the current fake, or else one that stands still. */
  readonly clock?: TestClock | undefined;
}

/** The outcome of the run. */
export interface RunJobResult<J extends object> extends JobRun {
  readonly outcome: 'completed' | 'released' | 'failed';
  /** The instance that ran, made from the payload, as `handle` left it; the given one if none ran. */
  readonly job: J;
  readonly value: HandleResult<J> | undefined;
  /** The jobs that it has added to its batch: by `addNow()` in any case, by `add()` if it has completed. */
  readonly added: readonly BatchedJob[];
  /** Its batch after the run: whether it is cancelled, how many jobs it has. The job itself still counts as pending. */
  readonly batch: Batch | undefined;
  /** Errors that changed no outcome: from a hook, from `failed()`, or from `handle` after its outcome was decided. */
  readonly reported: readonly unknown[];
}

/**
 * Encodes the job, decodes it, and runs it through the worker's executor: with injection, middleware, hooks and, if it fails for
 * good, `failed()`. Never rejects because of what the job throws.
 *
 * @throws any error of the job or its data, as its dispatch would; E_INVALID_JOB_OPTION, E_INVALID_WORKER_OPTION
 */
export async function runJob<J extends JobInstance>(job: J, options: RunJobOptions = {}): Promise<RunJobResult<J>> {
  checkRunJobOptions(options);
  const { attempts = 1, chain = [], batch = false } = options;
  const batches = new BatchLog();
  const manager = managerOf(options, batches);
  const id = uuidv7();
  const { connection, queue, entry, observed } = manager.encoder.encode(job, {
    ...(chain.length > 0 && { chain: { links: chain } }),
    ...(batch && { batch: { id, weight: 1 + chain.length } }),
  });
  observed?.end();
  // Jobs can only be added to a batch that exists.
  if (batch)
    await manager.driver(connection).push(queue, [entry], { id, name: '', allowsFailures: false, callbacks: [] });
  const counters = { ...noCounters, attempts, exceptions: attempts - 1 };
  const payload = withCounters(Buffer.from(entry.payload), counters);
  const running = new RunningJob({ queue, payload, counters, token: undefined }, connection, manager);
  const executor = new Executor(manager, executorSettings(options));
  try {
    const outcome = await executor.run(running);
    await keepEndOf(manager, running, outcome);
    await executor.announcer.announce(running, unsent(outcome));
    const run = jobRun(running, outcome, manager.clock.now());
    const [, ...addedNow] = batches.get(id)?.jobs ?? [];
    return {
      ...run,
      job: run.job ?? job,
      added: [...addedNow.map(batchedJob), ...run.added],
      batch: batch ? await manager.batches.get(id, { connection }) : undefined,
      reported: manager.reported,
    } as JobRun as RunJobResult<J>;
  } finally {
    executor.close();
  }
}

// Created for this run only, like its clock and stubs.
function managerOf({ clock, stubs = [] }: RunJobOptions, batchLog: BatchLog): FakeManager {
  const fake = activeFake();
  const program = defaultManager();
  const faked = new FakedJobs({});
  const ownClock = clock ?? fake?.clock ?? new TestClock();
  // Nothing reaches a real connection, because all jobs are faked.
  const parts = { log: new PushLog(), batchLog, faked, real: () => manager.driver() };
  const manager: FakeManager = new FakeManager({
    clock: ownClock,
    stubs: [...(fake?.stubs ?? []), ...stubs],
    program,
    configuration: program.configuration,
    connect: (name) => new FakeConnection(name, new MemoryStore(name, ownClock, keptOn(ownClock, name)), parts),
  });
  return manager;
}

/** Without follow-up jobs, because hooks would be told that those were queued. */
function unsent(outcome: Outcome): Outcome {
  const { settlement } = outcome;
  return 'next' in settlement ? { ...outcome, settlement: { ...settlement, next: undefined } } : outcome;
}
