/** `work`: runs jobs until it is told to stop, in processes kept running by a supervisor, or in this very one. */
import { relative } from 'node:path';
import { projectFolder } from '../../application/configuration/config-file';
import { durationSeconds } from '../../job/duration';
import { Supervisor } from '../../worker/supervisor/supervisor';
import { resolveWorkerOptions } from '../../worker/worker-options';
import { defineCommand } from '../command';
import { invalidOption, WORKER_EXIT_CODES_HELP } from '../errors';
import { commandLineOf, WORK_FLAGS, workerOptions, type WorkFlags } from '../flags';
import { serveHealth } from '../http-server';
import { CONNECTION_WORD } from '../named-queues';
import type { Session } from '../session';
import { PROCESS_MARGIN, STOP_REASONS, stopAtSignals, type StopSignal } from '../stop-signals';
import { watchFolder } from '../watched-folder';

export const work = defineCommand({
  name: 'work',
  summary: 'run jobs until told to stop',
  description:
    'A supervisor starts the processes that run the jobs, and replaces those that die. ' +
    'SIGTERM, SIGINT and SIGQUIT stop it cleanly: running jobs may finish within --grace, the rest go back without losing a try. ' +
    'A second signal kills the processes at once; their jobs run again when their leases end.',
  exitCodes: WORKER_EXIT_CODES_HELP,
  examples: [
    ['onqueue work', 'the default connection and its queue'],
    ['onqueue work redis --queue=high,default', "'high' first"],
    ["onqueue work --queue='*'", 'the queues of all registered jobs'],
    ["onqueue work --require 'dist/jobs/**/*.js'", 'load the jobs from these files'],
    ['onqueue work --concurrency=10 --timeout=2m', 'ten jobs at once'],
    ['onqueue work --watch', 'while you write code'],
    ['onqueue work --processes=4 --memory=512', 'four processes, each replaced when it has grown too large'],
    ['onqueue work --tries=3 --backoff=10s,1m', 'for jobs that say nothing themselves'],
    ['onqueue work --stop-when-empty', 'until no job is ready'],
    ['onqueue work --health-port=9000', 'serve health checks for an orchestrator'],
  ],
  words: CONNECTION_WORD,
  flags: WORK_FLAGS,
  async run({ session, flags: given, words: [connection] }) {
    const { surroundings } = session;
    const flags = { ...given, name: given.name ?? (surroundings.environment['ONQUEUE_WORKER_NAME'] || undefined) };
    const isStartedByUs = flags.fresh !== undefined || flags.processNumber !== undefined;
    const isSupervised = !isStartedByUs && flags.once !== true && flags.supervisor !== false;
    if (!isStartedByUs) refuseIdleFlags(flags, isSupervised);
    if (flags.watch === true && surroundings.environment['NODE_ENV'] === 'production')
      throw invalidOption(
        '--watch',
        'true',
        'NODE_ENV is production, where code changes only by a deploy: leave it out.',
      );
    if (flags.name !== undefined) surroundings.setTitle(titleOf(flags));
    if (isSupervised) return supervise(session, connection, flags);
    // Loaded here, with everything that runs jobs: a supervisor runs none.
    const { WorkProcess } = require('../work-process') as typeof import('../work-process');
    await new WorkProcess(session, connection, flags).run();
  },
});

/** The process title in `ps` and `top`. */
function titleOf({ name, processNumber }: WorkFlags): string {
  return ['onqueue', name, ...(processNumber === undefined ? [] : [processNumber])].join(' ');
}

// A flag without effect is worse than a refusal, because its user relies on it.
function refuseIdleFlags(
  { processes, recycle, watch, healthPort, healthHost, once }: WorkFlags,
  isSupervised: boolean,
): void {
  if (healthHost !== undefined && healthPort === undefined) {
    throw invalidOption('--health-host', healthHost, 'It only works with --health-port: give that as well.');
  }
  if (isSupervised) return;
  const alone = once === true ? '--once runs one job in this process' : '--no-supervisor means this one process';
  if (processes !== undefined && processes > 1) {
    throw invalidOption('--processes', String(processes), `${alone}: leave one of them out.`);
  }
  if (watch === true) throw invalidOption('--watch', 'true', `${alone}, which nobody replaces.`);
  if (recycle !== undefined) {
    throw invalidOption('--recycle', String(recycle), `${alone}, which nobody replaces: use --max-time.`);
  }
}

/** `work` as a supervisor: keeps processes running that run the jobs, and loads neither jobs nor drivers itself. */
async function supervise(session: Session, connection: string | undefined, flags: WorkFlags): Promise<void> {
  const { surroundings } = session;
  const { fork, clock } = surroundings;
  const { grace, maxTime } = resolveWorkerOptions(workerOptions(connection, flags));
  const {
    processes = 1,
    recycle = 0,
    watch = false,
    healthPort,
    healthHost: _host,
    supervisor: _supervisor,
    ...others
  } = flags;
  const logger = session.logger(flags);
  const supervisor = new Supervisor({
    processes,
    patience: (grace + PROCESS_MARGIN) * 1000,
    maxTime,
    recycle: durationSeconds(recycle, '--recycle') || Infinity,
    clock,
    logger,
    reasons: STOP_REASONS,
    start({ number, maxTime, ...told }) {
      const limit = maxTime === Infinity ? undefined : Math.max(0.001, maxTime).toFixed(3);
      const [opened, afterCrash] = [told.opened || undefined, told.afterCrash || undefined];
      const line = commandLineOf({ ...others, maxTime: limit, processes, processNumber: number, opened, afterCrash });
      return fork(['work', ...(connection === undefined ? [] : [connection]), ...line]);
    },
  });
  // Opens the port before any process starts, so that a port in use is reported at once.
  const server = healthPort === undefined ? undefined : await serveHealth(flags, supervisor);
  if (server !== undefined) logger.info({}, `Health is served at ${server.address}/health.`);
  let reason = STOP_REASONS.stopped;
  const stop = (signal: StopSignal, why: string): void => {
    reason = why;
    supervisor.stop(signal);
  };
  const stopListening = stopAtSignals(surroundings, logger, stop, (code) => {
    session.exitCode = code;
    supervisor.hasten(code);
  });
  const changed = (file: string): void => {
    logger.info({ file }, `${relative(surroundings.folder, file)} has changed: the code is loaded again.`);
    supervisor.replace();
  };
  const endWatch = watch ? watchFolder(projectFolder(surroundings.folder), clock, changed) : undefined;
  try {
    const code = await supervisor.run();
    // A second signal has already set the code.
    session.exitCode ||= code;
    if (supervisor.isStopping) logger.info({ code: session.exitCode }, `The worker stopped: ${reason}.`);
  } finally {
    stopListening();
    endWatch?.();
    server?.close();
  }
}
