/** Everything known about one job: what its store has, what is kept of its attempts and its end, and who runs it. */
import { failedStoreOf } from '../../connections/application';
import type { QueueManager } from '../../application/queue-manager';
import { redact } from '../../base/redact';
import type { Connection } from '../../connections/contract';
import { fullness, type FoundJob } from '../../operations/found-job';
import { shownResult, type ShownResult } from '../../operations/kept-end';
import { listedFailure, type ListedJob } from '../../operations/listed-job';
import { MOST_QUEUES, runsOf, shortened, type RunningWorker, type WorkersRun } from '../../operations/worker-record';
import { isRecord } from '../../payload/values';
import { isIncapable, readOr, workersOf } from '../readings';
import type { PageContext } from '../view';

/** One time that it failed for good. */
export interface ShownFailure extends ListedJob {
  readonly exception: string;
}

export interface JobStory {
  readonly job: FoundJob;
  /** For a failed job: this failure. */
  readonly failure: ShownFailure | undefined;
  /** Failures with the same id, in another place or state. */
  readonly otherFailures: readonly ShownFailure[];
  readonly result: ShownResult | undefined;
  /** Who runs it. Undefined if no worker says so. */
  readonly run: WorkersRun | undefined;
  /** Whether a worker takes jobs from its queue. Undefined if unknown. */
  readonly isWorked: boolean | undefined;
  readonly isPaused: boolean;
  /** Why it waits although it is ready: its queue or its lane is full. A clause. */
  readonly fullness: string | undefined;
}

const NONE: readonly string[] = [];

/** @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_UNKNOWN_CONNECTION; CapabilityError the store cannot look for jobs */
export function readStory(context: PageContext): Promise<JobStory> {
  const { manager, lookout, query } = context;
  const connection = query.get('connection') ?? manager.defaultConnection;
  const id = query.get('id')?.trim() ?? '';
  // The queue in which it is known to be.
  const queue = query.get('queue') ?? undefined;
  return lookout.see(JSON.stringify(['job', connection, queue, id]), async () => {
    const driver = manager.driver(connection);
    const own = manager.connection(connection);
    const job = shownJob(await own.find(id, { queue }));
    const { state, failedAt } = job;
    const waits = state === 'ready' || state === 'delayed';
    const isOver = state === 'completed' || state === 'unknown';
    const [failures, result, workers, paused, full] = await Promise.all([
      failuresOf(manager, driver, id),
      isOver ? shownResult(driver, manager, id) : undefined,
      manager.configuration.metrics === false ? undefined : workersOf(connection, context),
      waits ? readOr(() => own.pausedQueues(), NONE, isIncapable) : NONE,
      fullness(driver, job),
    ]);
    const isThis = (one: ShownFailure): boolean =>
      one.queue === job.queue && one.failedAt?.getTime() === failedAt?.getTime();
    const failure = state === 'failed' ? failures.find(isThis) : undefined;
    return {
      job,
      failure,
      otherFailures: failures.filter((one) => one !== failure),
      result,
      run: state === 'running' ? runOf(workers, connection, job) : undefined,
      isWorked: workers?.some((worker) => works(worker, connection, job.queue)),
      isPaused: job.queue !== undefined && paused.includes(job.queue),
      fullness: full,
    };
  });
}

/** Redacted, because source lines may contain secrets too. */
function shownJob(job: FoundJob): FoundJob {
  const history = job.history.map((attempt) =>
    attempt.source === undefined
      ? attempt
      : { ...attempt, source: { ...attempt.source, lines: attempt.source.lines.map(redact) } },
  );
  return { ...job, history };
}

/** Failures from all connections that keep theirs in this store, newest first. */
async function failuresOf(manager: QueueManager, driver: Connection, id: string): Promise<readonly ShownFailure[]> {
  const entries = (await failedStoreOf(driver, manager)?.find(id)) ?? [];
  return entries
    .toSorted((a, b) => b.failedAt - a.failedAt)
    .map((entry) => ({ ...listedFailure(manager, entry), exception: redact(entry.exception) }));
}

function runOf(
  workers: readonly RunningWorker[] | undefined,
  connection: string,
  { id, queue }: FoundJob,
): WorkersRun | undefined {
  return runsOf(workers?.filter((worker) => worker.connection === connection) ?? []).find(
    ({ job }) => job.id === shortened(id) && job.queue === shortened(queue ?? ''),
  );
}

function works({ connection: own, queues }: RunningWorker, connection: string, queue: string | undefined): boolean {
  if (own !== connection || queue === undefined) return false;
  return queues.includes(shortened(queue)) || queues.length >= MOST_QUEUES;
}

/** The fields of its payload. Undefined if it has none, or no worker can read it. */
export function fieldsOf({ payload }: FoundJob): Readonly<Record<string, unknown>> | undefined {
  return isRecord(payload) ? payload : undefined;
}

/** Whether it is one of Laravel's own classes: only Laravel's workers know what its fields mean. */
export function isLaravels({ job }: Readonly<Record<string, unknown>>): boolean {
  return typeof job === 'string' && job.startsWith('Illuminate\\');
}
