/** The command line as a whole: the tree of commands, and one run of it from arguments to exit code. */
import { Command, CommanderError } from 'commander';
import { helpHint, newCommand } from './command';
import { cancelCommand } from './commands/cancel';
import { checkCommand } from './commands/check';
import { clearCommand } from './commands/clear';
import { failedCommand } from './commands/failed';
import { flushCommand } from './commands/flush';
import { forgetCommand } from './commands/forget';
import { helpCommand } from './commands/help';
import { jobsCommand } from './commands/jobs';
import { listenCommand } from './commands/listen';
import { migrateCommand } from './commands/migrate';
import { pauseCommand } from './commands/pause';
import { pruneCommand } from './commands/prune';
import { restartCommand } from './commands/restart';
import { resumeCommand } from './commands/resume';
import { retryCommand } from './commands/retry';
import { sizeCommand } from './commands/size';
import { workCommand } from './commands/work';
import { errorText } from './error-text';
import { ExitCode, exitCodeOf } from './exit-codes';
import { ownPackage } from './package-versions';
import { Session, type Surroundings } from './session';

const COMMANDS = [
  workCommand,
  listenCommand,
  restartCommand,
  pauseCommand,
  resumeCommand,
  sizeCommand,
  jobsCommand,
  cancelCommand,
  failedCommand,
  retryCommand,
  forgetCommand,
  flushCommand,
  pruneCommand,
  clearCommand,
  migrateCommand,
  checkCommand,
] as const;

/**
 * Carries one command line out, and gives its exit code; whatever went wrong has been told by then.
 *
 * @param line the arguments behind the command's own name
 */
export async function run(line: readonly string[], surroundings: Surroundings): Promise<number> {
  const session = new Session(surroundings);
  try {
    await commandTree(session).parseAsync(line, { from: 'user' });
    return session.exitCode;
  } catch (error) {
    // Commander has told its own errors already; help and version are no errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.done : ExitCode.usage;
    const code = exitCodeOf(error);
    session.output.note(errorText(error));
    if (code === ExitCode.usage) session.output.note(helpHint(line[0]));
    return code;
  } finally {
    await session.close();
  }
}

function commandTree(session: Session): Command {
  const { stdout, stderr } = session.surroundings;
  const program = newCommand('onqueue', {
    summary: 'run and look after the jobs of a project',
    description:
      'The configuration is read from the onqueue.config.ts (or .js, .cjs, .mjs) beside the nearest package.json. Without one, ' +
      'REDIS_URL names a Redis; without that, jobs are kept in a SQLite file in that folder. Numbers that stand for a time are ' +
      'seconds; 500ms, 30s, 10m, 2h and 1d say their unit.',
    examples: [
      ['onqueue work', 'run jobs'],
      ['onqueue size', 'how many wait'],
      ['onqueue failed', 'which failed, and why'],
      ['onqueue help work', 'all options of a command'],
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
  const commands = [...COMMANDS.map((command) => command(session)), helpCommand(program)];
  for (const command of commands) program.addCommand(command.copyInheritedSettings(program));
  return program;
}
