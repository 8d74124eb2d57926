/** What must and must not compile with control calls and lookups. Checked by the compiler; never run. */
import {
  type CancelResult,
  type Control,
  type FoundJob,
  Job,
  type JobFailedError,
  type JobPage,
  Queue,
  type RunningLimit,
  type QueueSnapshot,
  type RunningWorker,
  type Snapshot,
  type WorkersJob,
} from 'onqueue';

@Job()
class Export extends Job {
  async handle(): Promise<void> {
    // The job's own id is valid, but not a dispatch that was not awaited.
    await Queue.cancel(this.id);
  }
}

export const result: Promise<CancelResult> = Queue.cancel('1', { queue: 'mail', connection: 'redis' });
export const word: Promise<'removed' | 'signalled' | 'marked' | 'unknown'> = Queue.connection('redis').cancel('1');
export const moved: Promise<'rescheduled' | 'ready' | 'running' | 'unknown'>[] = [
  Queue.reschedule('1', '2h'),
  Queue.reschedule('1', new Date(), { queue: 'mail', connection: 'redis' }),
  Queue.connection('redis').reschedule('1', 60, { queue: 'mail' }),
];
export const promoted: Promise<'ready' | 'running' | 'unknown'>[] = [
  Queue.promote('1'),
  Queue.connection('redis').promote('1', { queue: 'mail' }),
];
export const limited: Promise<void>[] = [
  Queue.limit('mail', { running: 5 }),
  Queue.limit('mail', undefined),
  Queue.connection('redis').limit('mail', { running: 1 }),
];
export const limits: Promise<readonly RunningLimit[]>[] = [Queue.limits(), Queue.connection('redis').limits()];
export const changed: Promise<boolean>[] = [Queue.pause(), Queue.pause('mail'), Queue.resume('mail')];
export const isPaused: Promise<boolean>[] = [Queue.isPaused(), Queue.isPaused('mail')];
export const paused: Promise<string[]> = Queue.pausedQueues();
export const timed: Promise<boolean> = Queue.pause('mail', { for: '10m' });
export const all: Promise<string[]>[] = [Queue.pauseAll({ for: 60 }), Queue.resumeAll()];
export const ends: Promise<(Date | undefined)[]> = Queue.pauses().then((pauses) => pauses.map(({ until }) => until));
export const restarted: Promise<void> = Queue.restart();
export const own: Pick<Control, 'cancel'> = { cancel: async () => 'unknown' };

// @ts-expect-error -- a dispatch is not an id before it is awaited
void Queue.cancel(Export.dispatch());

// @ts-expect-error -- which limit it is stands before the number
void Queue.limit('mail', 5);

// @ts-expect-error -- undefined removes a limit, and nothing else
void Queue.limit('mail');

// @ts-expect-error -- when is needed
void Queue.reschedule('1');

// @ts-expect-error -- not a duration
void Queue.reschedule('1', '2 hours');

// @ts-expect-error -- promote takes no time
void Queue.promote('1', '2h');

// @ts-expect-error -- an id is needed
void Queue.cancel();

// @ts-expect-error -- a queue instead of the options
void Queue.cancel('1', 'mail');

// @ts-expect-error -- the connection is already chosen
void Queue.connection('redis').cancel('1', { connection: 'database' });

// @ts-expect-error -- not a duration
void Queue.pause('mail', { for: '10 minutes' });

// @ts-expect-error -- one queue at a time
void Queue.pause(['high', 'low']);

// @ts-expect-error -- not a possible result
export const never: Pick<Control, 'cancel'> = { cancel: async () => 'gone' };

// --- Lookups ---

export const found: Promise<FoundJob>[] = [
  Queue.find('1'),
  Queue.find('1', { connection: 'redis', queue: 'mail' }),
  Queue.connection('redis').find('1', { queue: 'mail' }),
];
export const told = (job: FoundJob): readonly unknown[] =>
  job.state === 'unknown'
    ? [job.isSure]
    : [
        job.name?.length,
        job.queue?.length,
        job.attempts?.toFixed(),
        job.at?.getTime(),
        job.failedAt?.getTime(),
        job.error,
        job.completedAt?.getTime(),
        job.progress?.value.toFixed(),
      ];
/** Its state determines what else is known about it. */
export function narrowed(job: FoundJob): string | undefined {
  if (job.state === 'failed')
    return `${job.name}: ${job.error} at ${job.failedAt.toISOString()}, ${job.attempts.toFixed()}`;
  if (job.state === 'completed') return `${job.name} on ${job.queue} at ${job.completedAt?.toISOString()}`;
  if (job.state !== 'unknown') return `${job.name} on ${job.queue} at ${job.at?.toISOString()}`;
  const { name, queue, isSure }: { name?: string | undefined; queue?: string | undefined; isSure: boolean } = job;
  return isSure ? name : queue;
}
export const attempts = ({ history }: FoundJob): readonly string[] =>
  history.map(({ at, outcome, ms, source }) => `${at.toISOString()} ${outcome} ${ms?.toFixed()} ${source?.lines[0]}`);
Queue.progress(0.5, 'half of it');
export const results: Promise<number | undefined>[] = [
  Queue.result<number>('1'),
  Queue.result<number>('1', { within: '1m', connection: 'redis', queue: 'mail' }),
  Queue.connection('redis').result<number>('1', { within: 0 }),
];
/** By job or class: the result has the type that `handle` resolves to. */
class Sum extends Job {
  async handle(): Promise<number> {
    return 1;
  }
}
export const resultsOfJobs: Promise<number | undefined>[] = [
  Queue.result<Sum>('1'),
  Queue.result<typeof Sum>('1'),
  Queue.connection('redis').result<Sum>('1'),
];
export const anything: Promise<unknown> = Queue.result('1');
export const dates: Promise<Map<string, Date> | boolean | undefined> = Queue.result<Map<string, Date> | boolean>('1');
export const failure = (error: JobFailedError): string => `${error.facts.job} ${error.facts.name} ${error.code}`;
Job({ keepResult: '1h' });
Job({ keepResult: false });

// @ts-expect-error -- the result may have expired
export const sum: Promise<number> = Queue.result<number>('1');

// @ts-expect-error -- it resolves with the result, not with a job
export const summing: Promise<Sum | undefined> = Queue.result<Sum>('1');

// @ts-expect-error -- not a duration
Job({ keepResult: '1 hour' });

// @ts-expect-error -- the value comes first
Queue.progress('half of it');

// @ts-expect-error -- a dispatch is not an id before it is awaited
void Queue.find(Export.dispatch());

// @ts-expect-error -- the connection is already chosen
void Queue.connection('redis').find('1', { connection: 'database' });

export const pages: Promise<JobPage>[] = [
  Queue.jobs(),
  Queue.jobs('mail', { state: 'running', limit: 10 }),
  Queue.connection('redis').jobs('mail', { state: 'failed', after: 'failed:10' }),
];
export const listed = ({ jobs, next }: JobPage): readonly unknown[] => [
  next?.length,
  ...jobs.map(({ id, name, state, error }) => [id?.length, name.length, state.length, error?.length]),
];

export const workers: Promise<RunningWorker[]>[] = [Queue.workers(), Queue.connection('redis').workers()];
export const seen = ({ host, silentFor, outcomes, running }: RunningWorker): readonly unknown[] => [
  host.length,
  silentFor.toFixed(),
  outcomes.completed.toFixed(),
  ...running.map(({ id, since, attempt }: WorkersJob) => [id.length, since.getTime(), attempt.toFixed()]),
];

export const snapshots: Promise<Snapshot>[] = [
  Queue.snapshot(),
  Queue.connection('redis').snapshot({ queues: ['mail'] }),
];
export const shown = ({ at, queues, workers }: Snapshot): readonly unknown[] => [
  at.getTime(),
  workers?.length,
  ...queues.map(({ ready, failed, oldestWait, pausedUntil }: QueueSnapshot) => [
    ready.toFixed(),
    failed?.toFixed(),
    oldestWait?.toFixed(),
    pausedUntil?.getTime(),
  ]),
];

// @ts-expect-error -- a list of queues
void Queue.snapshot({ queues: 'mail' });

void Queue.jobs('mail', { state: 'completed' }).then(({ jobs }) =>
  jobs.map(({ completedAt }) => completedAt?.getTime()),
);

// @ts-expect-error -- a state of the store, not of a job
void Queue.jobs('mail', { state: 'reserved' });

// @ts-expect-error -- a payload may be anything
export const payload: Promise<string> = Queue.find('1').then((job) => job.payload);

// --- Hooks ---

Queue.queued(({ id, name, queue, delay }) => [id?.length, name.length, queue.length, delay] as const);
Queue.attempted(({ job, exception }) => [job.hasFailed, job.maxTries?.toFixed(), exception?.message] as const);
Queue.released(({ delay }) => delay.toFixed());
// @ts-expect-error -- the event has no job
Queue.starting(({ job }) => job);
