/** The command line as a whole: the tree of commands, and one run from arguments to exit code. */
import { type Command, CommanderError } from 'commander';
import { helpHint, newCommand } from './command';
import { batch, batchCancel, batches, batchRetry } from './commands/batches';
import { check } from './commands/check';
import { classes } from './commands/classes';
import { completion } from './commands/completion';
import { dashboard } from './commands/dashboard';
import { encryption } from './commands/encryption';
import { failed, retry } from './commands/failed';
import { flush, forget, prune } from './commands/forget';
import { init, makeJob } from './commands/init';
import { inspect } from './commands/inspect';
import { cancel, jobs, promote, reschedule } from './commands/jobs';
import { lanes } from './commands/lanes';
import { listen } from './commands/listen';
import { metrics } from './commands/metrics';
import { migrate } from './commands/migrate';
import { monitor } from './commands/monitor';
import { clear, limit, pause, resume, size } from './commands/queues';
import { recount } from './commands/recount';
import {
  scheduleList,
  schedulePause,
  scheduleRemove,
  scheduleResume,
  scheduleRun,
  scheduleTest,
} from './commands/schedules';
import { work } from './commands/work';
import { result } from './commands/result';
import { tail } from './commands/tail';
import { restart, workers } from './commands/workers';
import { errorText, ExitCode, exitCodeOf } from './errors';
import { ownPackage } from './project-files';
import { Session, type Surroundings } from './session';

/** In the order of the help, by its headings. */
const COMMANDS = {
  'Run jobs:': [work, listen, restart, pause, resume, limit],
  'See what happens:': [monitor, tail, dashboard, size, lanes, metrics, workers, classes],
  'Jobs:': [jobs, inspect, result, cancel, reschedule, promote, clear],
  'Failed jobs:': [failed, retry, forget, flush, prune],
  'Batches:': [batches, batch, batchCancel, batchRetry],
  'Schedules:': [scheduleList, scheduleRun, schedulePause, scheduleResume, scheduleRemove, scheduleTest],
  'Set up and repair:': [init, makeJob, check, migrate, recount, encryption, completion],
};

/** Runs one command line, and returns its exit code. All errors have been printed by then. @param line without the command */
export async function run(line: readonly string[], surroundings: Surroundings): Promise<number> {
  const session = new Session(surroundings);
  try {
    await commandTree(session).parseAsync(line, { from: 'user' });
    return session.exitCode;
  } catch (error) {
    // Commander has already printed its own errors. Help and version are not errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.done : ExitCode.usage;
    const code = exitCodeOf(error);
    const hint = code === ExitCode.usage ? [helpHint(line[0])] : [];
    session.output.note([errorText(error), ...hint].join('\n'), 'error');
    return code;
  } finally {
    await session.close();
  }
}

function commandTree(session: Session): Command {
  const { stdout, stderr } = session.surroundings;
  const program = newCommand({
    name: 'onqueue',
    summary: "run and manage a project's jobs",
    description:
      'The configuration is read from onqueue.config.ts (or .js, .cjs, .mjs) beside the nearest package.json. Without such a file, ' +
      'REDIS_URL names a Redis server; without that, jobs are stored in a SQLite file in that folder. A time without a unit is in ' +
      'seconds; units are ms, s, m, h and d, as in 500ms or 10m.',
    examples: [
      ['onqueue work', 'run jobs'],
      ['onqueue size', 'count waiting jobs'],
      ['onqueue failed', 'list failed jobs and their errors'],
      ['onqueue help work', 'show all options of a command'],
    ],
  })
    .helpCommand(false)
    .version(ownPackage().version)
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      getOutHelpWidth: () => stdout.columns ?? 100,
      getErrHelpWidth: () => stderr.columns ?? 100,
    });
  for (const [heading, commands] of Object.entries(COMMANDS))
    for (const command of commands)
      program.addCommand(command(session).helpGroup(heading).copyInheritedSettings(program));
  return program.addCommand(helpCommand(program).helpGroup('Set up and repair:').copyInheritedSettings(program));
}

/** Commander's own help command shows everything for a mistyped name, as if nothing were wrong. */
function helpCommand(program: Command): Command {
  const command = newCommand({
    name: 'help',
    summary: 'show the options of a command',
    examples: [['onqueue help work', 'all options of work']],
    words: ['[command]', 'name of a command (default: lists all)'],
  });
  return command.action((name?: string) => {
    const found = name === undefined ? program : program.commands.find((one) => one.name() === name);
    if (found === undefined) program.error(`error: unknown command '${name}'`, { code: 'commander.unknownCommand' });
    else found.help();
  });
}
