/** Runs one job as a worker would, without a queue. */
import type { Stub } from '../container/stubs';
import { MemoryConnection } from '../connections/memory/memory-connection';
import { MemoryStore } from '../connections/memory/memory-store';
import type { JobInstance } from '../job/definition';
import { invalidJobOption } from '../job/errors';
import type { HandleResult } from '../job/job';
import { noCounters, withCounters } from '../payload/counters';
import { defaultManager } from '../application/default-manager';
import { Executor } from '../worker/executor';
import { type Outcome, RunningJob } from '../worker/running-job';
import { FakeManager } from './fake-manager';
import { activeFake } from './fake-queue';
import { executorSettings, jobRun, type JobRun, type WorkerFlags } from './job-run';
import { TestClock } from './test-clock';

export interface RunJobOptions extends WorkerFlags {
  /** What stands in for what is injected, by token: `[[Mailer, { send: async () => undefined }]]`. */
  readonly stubs?: readonly Stub[] | undefined;
  /** What is to follow it: the chain that it is the first link of. */
  readonly chain?: readonly JobInstance[] | undefined;
  /** Which run this is: 3 stands for two failed attempts before it. Default 1. */
  readonly attempts?: number | undefined;
  /** For timeouts and moments. Default: that of the fake in place, otherwise one that stands still. */
  readonly clock?: TestClock | undefined;
}

/** What became of the run. */
export interface RunJobResult<J extends object> extends JobRun {
  readonly outcome: 'completed' | 'released' | 'failed';
  /** The instance that ran, made from the payload, as `handle` left it; the one given, where none ran. */
  readonly job: J;
  readonly value: HandleResult<J> | undefined;
  /** Errors that changed no outcome: of a hook, of `failed()`, or of `handle` after its outcome was decided. */
  readonly reported: readonly unknown[];
}

/**
 * Encodes the job, decodes it, and runs it through the worker's executor: with injection, middleware, hooks and, where it
 * fails for good, `failed()`. Never rejects for what the job throws.
 *
 * @throws what is wrong with the job or its data, as its dispatch would; E_INVALID_JOB_OPTION, E_INVALID_WORKER_OPTION
 */
export async function runJob<J extends JobInstance>(job: J, options: RunJobOptions = {}): Promise<RunJobResult<J>> {
  const { attempts = 1, chain } = options;
  if (!Number.isInteger(attempts) || attempts < 1) {
    throw invalidJobOption('attempts of runJob()', attempts, 'Give a whole number from 1.');
  }
  const manager = managerOf(options);
  const { connection, queue, entry } = manager.encoder.encode(
    job,
    chain === undefined ? {} : { chain: { links: chain } },
  );
  const counters = { ...noCounters, attempts, exceptions: attempts - 1 };
  const payload = withCounters(Buffer.from(entry.payload), counters);
  const running = new RunningJob({ queue, payload, counters, token: undefined }, connection);
  const executor = new Executor(manager, executorSettings(options));
  try {
    const outcome = await executor.run(running);
    await executor.announcer.announce(running, unsent(outcome));
    const run = jobRun(running, outcome, manager.clock.now());
    return { ...run, job: run.job ?? job, reported: manager.reported } as JobRun as RunJobResult<J>;
  } finally {
    executor.close();
  }
}

// Made for this run alone, and its clock and stubs with it.
function managerOf({ clock, stubs = [] }: RunJobOptions): FakeManager {
  const fake = activeFake();
  const program = defaultManager();
  const ownClock = clock ?? fake?.clock ?? new TestClock();
  return new FakeManager({
    clock: ownClock,
    stubs: [...(fake?.stubs ?? []), ...stubs],
    program,
    configuration: program.configuration,
    connect: (name) => new MemoryConnection(name, new MemoryStore(name, ownClock)),
  });
}

/** As nothing follows: hooks would hear that it was queued. */
function unsent(outcome: Outcome): Outcome {
  const { settlement } = outcome;
  return 'next' in settlement ? { ...outcome, settlement: { ...settlement, next: undefined } } : outcome;
}
