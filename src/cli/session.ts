/** One run of a command: where it prints, the project it loads, and its exit code. */
import type { ChildProcess } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import type { QueueManager } from '../application/queue-manager';
import type { Clock, Milliseconds } from '../base/clock';
import { ConsoleLogger, type LogFormat, type Logger, tagged, usualFormat } from '../base/logger';
import { oneLine } from '../base/text';
import type { Connectors } from '../connections/driver';
import type { WatchUncaught } from '../worker/worker-options';
import { ExitCode, nothingMatched, unconfirmed } from './errors';
import type { LogFlags, ProjectFlags } from './flags';
import { Output, type OutputStream } from './output';
import { filesMatching, requireAll } from './project-files';
import type { StopSignal } from './stop-signals';

/** The process around a command; tests provide their own. */
export interface Surroundings {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly clock: Clock;
  readonly folder: string;
  /** Commands add the variables of `.env` to it. */
  readonly environment: NodeJS.ProcessEnv;
  readonly connectors: Connectors;
  /** Asks on the terminal. Undefined if there is none. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  /** Calls back with keys pressed on the terminal, and Ctrl-C. Undefined if there is none. Returns what stops listening. */
  readonly onKeys: ((hear: (keys: string) => void) => () => void) | undefined;
  /** Calls back on SIGTERM, SIGINT and SIGQUIT. Returns the function that stops listening. */
  readonly onStopSignal: (hear: (signal: StopSignal) => void) => () => void;
  /** Calls back once if npm started this process and has gone. Returns the function that stops watching. */
  readonly onDeserted: (hear: () => void) => () => void;
  /** Calls back when this one's starter has gone, and kills this one after `patience`. Returns what stops watching. */
  readonly onOrphaned: (hear: () => void, patience: Milliseconds) => () => void;
  /** Starts this command again in a process with a channel to this one. Signals of the terminal do not reach it. */
  readonly fork: (line: readonly string[]) => ChildProcess;
  /** The channel to the process that started this one. Undefined if there is none. */
  readonly channel: Channel | undefined;
  /** Calls back with uncaught errors, as long as the worker has the process to itself. */
  readonly onStray: WatchUncaught;
  /** Calls back when the process exits; the callback cannot await anything. Returns the function that undoes this. */
  readonly onExit: (hear: () => void) => () => void;
  /** Sets the name of the process, for `ps` and `top`. */
  readonly setTitle: (title: string) => void;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
}

interface Channel {
  tell(message: object): void;
  /** Returns the function that stops listening. */
  hear(callback: (message: unknown) => void): () => void;
}

export class Session {
  readonly output: Output;
  exitCode: number = ExitCode.done;
  readonly #loggers: ConsoleLogger[] = [];
  #manager: QueueManager | undefined;
  #opened: Promise<QueueManager> | undefined;
  #previous: QueueManager | undefined;

  constructor(readonly surroundings: Surroundings) {
    this.output = new Output(surroundings.stdout, surroundings.stderr);
  }

  /** Logs to standard error, and leaves standard output to the jobs. */
  logger(flags: LogFlags = {}): Logger {
    const { log } = this.output;
    const level = flags.verbose === true ? 'debug' : flags.quiet === true ? 'warn' : 'info';
    const logger = new ConsoleLogger(log, level, logFormat(log, flags));
    this.#loggers.push(logger);
    return tagged(logger, flags.name === undefined ? {} : { worker: flags.name });
  }

  /**
   * Loads the project, once: its configuration, then the files of `--require`. Its manager also becomes the one behind `Queue`, because
   * jobs that run here dispatch others.
   *
   * @param logs where log lines go if the configuration has no logger; default: standard error, from level `info`
   * @throws E_NOTHING_MATCHED, E_REQUIRED_FILE, ConfigurationError, E_CONFIG_FILE, E_TYPESCRIPT_LOADER
   */
  open(flags: ProjectFlags, logs?: Logger): Promise<QueueManager> {
    return (this.#opened ??= this.#load(flags, logs ?? this.logger()));
  }

  async #load({ config, require: required = [] }: ProjectFlags, logs: Logger): Promise<QueueManager> {
    const { folder, environment, connectors } = this.surroundings;
    const configFile = config === undefined ? undefined : existing(config, folder);
    const manager = new (framework().QueueManager)({
      connectors,
      logger: logs,
      folder: configFile === undefined ? folder : dirname(configFile),
      variables: environment,
      configFile,
    });
    this.#manager = manager;
    this.#previous = framework().replaceDefaultManager(manager);
    // Checks the configuration now, not on first use, so that its mistakes are reported first.
    await manager.ready();
    requireAll(required, folder);
    return manager;
  }

  /** In production, asks before jobs are removed. @throws E_UNCONFIRMED */
  async confirm(action: string, force: boolean | undefined): Promise<void> {
    const { environment, ask } = this.surroundings;
    if (force === true || environment['NODE_ENV'] !== 'production') return;
    if (ask === undefined) {
      throw unconfirmed(action, 'NODE_ENV is production, and there is no terminal for asking.');
    }
    const answer = await ask(`${oneLine(action)}? NODE_ENV is production. [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw unconfirmed(action, 'it was not confirmed.');
  }

  async close(): Promise<void> {
    if (this.#manager !== undefined) {
      await this.#manager.close();
      framework().replaceDefaultManager(this.#previous);
    }
    for (const logger of this.#loggers) logger.flush();
  }
}

export function logFormat(stream: OutputStream, { log, json = false }: LogFlags): LogFormat {
  return log ?? (json ? 'json' : usualFormat(stream));
}

function existing(config: string, folder: string): string {
  const path = resolve(folder, config);
  if (filesMatching(path, folder).length > 0) return path;
  throw nothingMatched('--config', config, folder, 'Name the file that exports the configuration.');
}

/** Loaded with the first project, so that a supervisor, which opens none, stays small. */
function framework(): typeof import('../application/queue-manager') & typeof import('../application/default-manager') {
  require('../composition');
  const manager = require('../application/queue-manager') as typeof import('../application/queue-manager');
  return {
    ...manager,
    ...(require('../application/default-manager') as typeof import('../application/default-manager')),
  };
}
