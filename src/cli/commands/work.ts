/** `work`: runs jobs until it is told to stop. */
import type { Command } from 'commander';
import type { Seconds } from '../../clock/clock';
import type { QueueManager } from '../../queue/queue-manager';
import type { StopReason } from '../../worker/stop-conditions';
import { Worker } from '../../worker/worker';
import { resolveWorkerOptions } from '../../worker/worker-options';
import { newCommand } from '../command';
import { ExitCode, exitCodeOfSignal } from '../exit-codes';
import { HOW_TO_REGISTER, JOB_HEADINGS, jobRow, listedJobs, shortNamesRemark } from '../job-list';
import { LoadedFiles } from '../loaded-files';
import { memoryRemark } from '../memory-remark';
import type { Session } from '../session';
import { hearStopSignals } from '../stop-signals';
import { addWorkOptions, remarksOn, renamed, type WorkFlags, workerOptions } from '../worker-flags';

/** Beyond the grace, for a worker whose `listen` was killed; then it is blocked, and killed as well. */
const ORPHAN_MARGIN: Seconds = 2;

const REASONS: Readonly<Record<StopReason, string>> = {
  stopped: 'it was told to',
  empty: 'its queues are empty',
  once: 'its one job is done',
  'max-jobs': '--max-jobs is reached',
  'max-time': '--max-time is over',
  memory: 'the process uses more than --memory',
  restart: 'workers were told to start anew',
};

export function workCommand(session: Session): Command {
  const command = newCommand('work', {
    summary: 'run jobs until told to stop',
    description:
      'SIGTERM, SIGINT and SIGQUIT stop it cleanly: running jobs finish within --grace, the rest go back at no cost in tries. ' +
      'A second signal ends the process at once; its jobs run again when their leases end.',
    examples: [
      ['onqueue work', 'the default connection and its queue'],
      ['onqueue work redis --queue=high,default', "'high' first"],
      ["onqueue work --require 'dist/jobs/**/*.js'", 'load the jobs from these files'],
      ['onqueue work --concurrency=10 --timeout=2m', 'ten jobs at once'],
      ['onqueue work --tries=3 --backoff=10s,1m', 'for jobs that say nothing themselves'],
      ['onqueue work --stop-when-empty', 'until nothing is left'],
      ['onqueue work --max-time=1h --memory=512', 'for a supervisor that starts it anew'],
    ],
  });
  return addWorkOptions(
    command.argument('[connection]', 'connection of the configuration (default: its default)'),
  ).action((connection: string | undefined, flags: WorkFlags) => work(session, connection, flags));
}

async function work(session: Session, connection: string | undefined, given: WorkFlags): Promise<void> {
  const { output, surroundings } = session;
  const { stdout } = surroundings;
  for (const remark of remarksOn(given)) output.note(remark);
  const flags = renamed(given);
  const options = workerOptions(connection, flags);
  // Before the project is loaded: a mistyped option should not wait for it.
  const { grace } = resolveWorkerOptions(options);
  const manager = session.open(flags, flags.json === true ? { write: (text) => stdout.write(text) } : undefined);
  const worker = new Worker(options, manager);
  if (flags.fresh !== 'again') printOpening(session, manager, connection, flags);
  const isListened = flags.fresh !== undefined;
  const stopListening = stopAtSignals(session, manager, worker);
  const stopWatching = isListened ? stopWhenStale(session, manager, worker, grace) : undefined;
  try {
    const reason = await worker.run();
    if (!isListened) manager.logger.info({ reason }, `The worker stopped: ${REASONS[reason]}.`);
    session.exitCode = reason === 'memory' ? ExitCode.memory : ExitCode.done;
  } finally {
    stopListening();
    stopWatching?.();
  }
}

/** What the worker works on: the store, the queues, the jobs it knows. */
function printOpening(
  { output, surroundings }: Session,
  manager: QueueManager,
  connection: string | undefined,
  flags: WorkFlags,
): void {
  const { name, driver, address } = manager.driver(connection);
  const { queues, defaults } = resolveWorkerOptions(workerOptions(connection, flags));
  const queueNames = queues?.map((queue) => queue.name) ?? [manager.settings(name).queue];
  const jobs = listedJobs(manager, defaults);
  if (flags.json === true) {
    const time = new Date(surroundings.clock.now()).toISOString();
    const facts = { connection: name, driver, store: address, queues: queueNames, jobs };
    output.line(JSON.stringify({ level: 'info', time, msg: 'The worker starts.', ...facts }));
  } else {
    output.line(`Store    ${address} (connection ${name}, driver ${driver})`);
    output.line(`Queues   ${queueNames.join(', ')}`);
    if (jobs.length > 0) {
      output.line('');
      output.table(JOB_HEADINGS, jobs.map(jobRow));
    }
    output.line('');
  }
  for (const remark of [memoryRemark(manager, name), shortNamesRemark(manager)]) {
    if (remark !== undefined) manager.logger.warn({}, remark);
  }
  if (jobs.length === 0) {
    manager.logger.warn({}, `${HOW_TO_REGISTER} Until then every job that comes is given back to its queue.`);
  }
}

/** Stops the worker when the process is told to end. Returns the function that stops listening. */
function stopAtSignals({ surroundings }: Session, { logger }: QueueManager, worker: Worker): () => void {
  return hearStopSignals(surroundings, {
    first(signal) {
      logger.info({ signal }, `${signal}: running jobs may finish; a second signal ends them.`);
      void worker.stop();
    },
    again(signal) {
      logger.warn({ signal }, `${signal} again: ending at once. Running jobs run again when their leases end.`);
      surroundings.exit(exitCodeOfSignal(signal));
    },
  });
}

/** For a process of `listen`: stops before it would run old code, and with the process that started it. */
function stopWhenStale({ surroundings }: Session, { hooks }: QueueManager, worker: Worker, grace: Seconds): () => void {
  const files = new LoadedFiles(surroundings.clock.now());
  const stop = (): void => void worker.stop();
  const stopWatching = surroundings.onOrphaned(stop, (grace + ORPHAN_MARGIN) * 1000);
  const stopAsking = hooks.on('looping', () => {
    if (!files.haveChanged) return true;
    stop();
    return false;
  });
  return () => {
    stopWatching();
    stopAsking();
  };
}
