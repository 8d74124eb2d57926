/** The options of `work` and `listen`, under Laravel's names, and the worker's options that they make. */
import { type Command, Option } from 'commander';
import { type Duration, isSuspiciouslyManySeconds } from '../job/duration';
import type { WorkerOptions } from '../worker/worker-options';
import type { LogFlags } from './session';
import {
  addJsonOption,
  addProjectOptions,
  countOption,
  durationOption,
  backoffOption,
  portOption,
  type ProjectFlags,
  queueOption,
  suspiciousDurations,
} from './options';

/** What `listen` takes: options of the job that each of its processes runs. */
export interface ListenFlags extends ProjectFlags, LogFlags {
  readonly queue?: string | undefined;
  readonly fair?: boolean | undefined;
  readonly tries?: number | undefined;
  readonly timeout?: Duration | undefined;
  readonly backoff?: readonly Duration[] | undefined;
  /** The old name of `backoff`. */
  readonly delay?: readonly Duration[] | undefined;
  readonly sleep?: Duration | undefined;
  readonly rest?: Duration | undefined;
  readonly grace?: Duration | undefined;
}

/** Where an orchestrator asks how the workers are. */
export interface HealthFlags {
  readonly healthPort?: number | undefined;
  readonly healthHost?: string | undefined;
}

export interface WorkFlags extends ListenFlags, HealthFlags {
  readonly concurrency?: number | undefined;
  readonly maxJobs?: number | undefined;
  readonly maxTime?: Duration | undefined;
  readonly memory?: number | undefined;
  readonly once?: boolean | undefined;
  readonly stopWhenEmpty?: boolean | undefined;
  readonly drain?: boolean | undefined;
  readonly processes?: number | undefined;
  readonly recycle?: Duration | undefined;
  readonly supervisor?: boolean | undefined;
  /** Set by `listen` for its processes: the first opens as `work` does, and all stop before they run code that has changed. */
  readonly fresh?: 'first' | 'again' | undefined;
  /** Set by a supervisor for its processes, which count from 1. */
  readonly processNumber?: number | undefined;
  /** Set by a supervisor: another process has printed the opening. */
  readonly opened?: boolean | undefined;
  /** Set by a supervisor: another process has died, and what it held is still reserved. */
  readonly afterCrash?: boolean | undefined;
}

export function addListenOptions(command: Command, sleep: string): Command {
  return addJsonOption(
    addProjectOptions(
      command
        .addOption(queueOption("queues to work on, in this order: high,default (default: the connection's)"))
        .option('--fair', 'draw the order of queues for each job, by weight: --queue=high:3,default:1')
        .addOption(
          countOption('--tries <count>', 'attempts of jobs that say nothing themselves; 0: no limit (default: 1)'),
        )
        .addOption(durationOption('--timeout <time>', 'for jobs that say nothing themselves; 0: none (default: 60s)'))
        .addOption(
          backoffOption(
            '--backoff <times>',
            'wait before the next attempt: 10s, or 10s,1m,5m, whose last repeats, or doubled each time: 1s..10m (default: 0)',
          ),
        )
        .addOption(backoffOption('--delay <times>', 'old name of --backoff').hideHelp())
        .addOption(durationOption('--sleep <time>', sleep))
        .addOption(durationOption('--rest <time>', 'pause after each job (default: 0)'))
        .addOption(
          durationOption('--grace <time>', 'time for running jobs to finish when the worker stops (default: 30s)'),
        ),
    ),
    'the same as --log=json',
  )
    .addOption(
      new Option('--log <format>', 'how log lines are written (default: text on a terminal, otherwise json)').choices([
        'json',
        'text',
      ]),
    )
    .option('-v, --verbose', 'also log when a job starts')
    .addOption(new Option('-q, --quiet', 'log warnings and errors alone').conflicts('verbose'));
}

export function addWorkOptions(command: Command): Command {
  return (
    addListenOptions(command, 'pause when there is no work and the store cannot wake us (default: 1s)')
      .addOption(countOption('--concurrency <count>', 'jobs at once (default: 1)', 1))
      .option('--name <name>', 'what log lines call this worker, to tell it from others')
      .addOption(countOption('--max-jobs <count>', 'stop after so many jobs; each process counts its own'))
      .addOption(durationOption('--max-time <time>', 'stop after this time'))
      .addOption(countOption('--memory <MB>', 'replace a process that uses more than so many megabytes'))
      .option('--once', 'run one job at most; wait for it as long as --sleep says')
      .option('--stop-when-empty', 'stop when nothing is ready; what is delayed is left for later')
      .option('--drain', 'stop when nothing is left; what is delayed is waited for')
      .addOption(countOption('--processes <count>', 'processes that a supervisor keeps at work (default: 1)', 1))
      .addOption(durationOption('--recycle <time>', 'replace a process that has worked for so long'))
      // Without the positive form, commander would count the flag as given always.
      .addOption(new Option('--supervisor').hideHelp())
      .option('--no-supervisor', 'work in this very process: when it dies, somebody else has to start it anew')
      .addOption(portOption('--health-port <port>', 'tell by HTTP how the workers are: /live, /ready, /health'))
      .option('--health-host <address>', 'address that --health-port is heard on; 0.0.0.0: all (default: 127.0.0.1)')
      .addOption(new Option('--fresh <turn>').choices(['first', 'again']).hideHelp())
      .addOption(countOption('--process-number <number>', '', 1).hideHelp())
      .addOption(new Option('--opened').hideHelp())
      .addOption(new Option('--after-crash').hideHelp())
  );
}

/** What to say of the flags before they are used: an old name, and numbers that look like milliseconds. */
export function remarksOn(flags: ListenFlags): string[] {
  const old = flags.delay === undefined ? [] : ['--delay is the old name of --backoff; please write --backoff.'];
  return [...old, ...suspiciousDurations(flags)];
}

/** The flags with `--delay` under its new name. */
export function renamed<Flags extends ListenFlags>({ delay, ...flags }: Flags): Omit<Flags, 'delay'> {
  return delay === undefined ? flags : { ...flags, backoff: flags.backoff ?? delay };
}

export function workerOptions(connection: string | undefined, flags: Omit<WorkFlags, 'delay'>): WorkerOptions {
  const { queue, fair, tries, timeout, backoff, sleep, rest, grace } = flags;
  const { concurrency, maxJobs, maxTime, memory, once, stopWhenEmpty, drain } = flags;
  const ofJobs = { queue, fair, tries, timeout, backoff, sleep, rest, grace };
  return { connection, ...withUnits({ ...ofJobs, concurrency, maxJobs, maxTime, memory, once, stopWhenEmpty, drain }) };
}

// A worker warns of bare numbers that look like milliseconds; `remarksOn` has done so by the flags' names.
function withUnits(options: WorkerOptions): WorkerOptions {
  const units = (value: Duration): Duration => (isSuspiciouslyManySeconds(value) ? `${value}s` : value);
  const { backoff, timeout, sleep, rest, grace, ...others } = options;
  return {
    ...others,
    ...(Array.isArray(backoff) && { backoff: backoff.map(units) }),
    ...(timeout !== undefined && { timeout: units(timeout) }),
    ...(sleep !== undefined && { sleep: units(sleep) }),
    ...(rest !== undefined && { rest: units(rest) }),
    ...(grace !== undefined && { grace: units(grace) }),
  };
}
