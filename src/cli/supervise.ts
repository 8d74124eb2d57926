/** `work` as a supervisor: keeps processes running that run the jobs, and loads neither jobs nor drivers itself. */
import { durationSeconds } from '../job/duration';
import { PROCESS_MARGIN } from '../worker/stop';
import { Supervisor } from '../worker/supervisor/supervisor';
import { resolveWorkerOptions } from '../worker/worker-options';
import { STOP_REASONS, type StopSignal } from './exit-codes';
import { commandLineOf } from './flags';
import { serveHealth } from './health-server';
import type { Session } from './session';
import { stopAtSignals } from './stop-signals';
import { workerOptions, type WorkFlags } from './work-flags';

export async function supervise(session: Session, connection: string | undefined, flags: WorkFlags): Promise<void> {
  const { fork, clock } = session.surroundings;
  const { grace, maxTime } = resolveWorkerOptions(workerOptions(connection, flags));
  const { processes = 1, recycle = 0, healthPort, healthHost: _host, supervisor: _supervisor, ...others } = flags;
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
  const stop = (signal: StopSignal): void => supervisor.stop(signal);
  const stopListening = stopAtSignals(session.surroundings, logger, stop, (code) => {
    session.exitCode = code;
    supervisor.hasten(code);
  });
  try {
    const code = await supervisor.run();
    // A second signal has already set the code.
    session.exitCode ||= code;
    if (supervisor.isStopping) logger.info({ code: session.exitCode }, `The worker stopped: ${STOP_REASONS.stopped}.`);
  } finally {
    stopListening();
    server?.close();
  }
}
