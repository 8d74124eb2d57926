/** How each command of the tree is made: its name, what it does, examples, and the exit codes that all share. */
import { Command } from 'commander';
import { EXIT_CODES_HELP, ExitCode } from './exit-codes';

export interface CommandText {
  readonly summary: string;
  /** Further sentences, above the options. */
  readonly description?: string | undefined;
  /** Whole command lines, each with what it does. */
  readonly examples: readonly (readonly [line: string, meaning: string])[];
}

/** The width that examples are padded to, so that their meanings stand below each other. */
const EXAMPLE_WIDTH = 52;

export function newCommand(name: string, { summary, description, examples }: CommandText): Command {
  const lines = examples.map(([line, meaning]) => `  ${line.padEnd(EXAMPLE_WIDTH)}  ${meaning}`);
  return settled(new Command(name))
    .summary(summary)
    .description([`${summary[0]?.toUpperCase()}${summary.slice(1)}.`, description].filter(Boolean).join('\n\n'))
    .addHelpText('after', `\nExamples:\n${lines.join('\n')}\n\n${EXIT_CODES_HELP}`);
}

/** Nothing of commander's may end the process: what was printed must reach its reader first. */
export function settled(command: Command): Command {
  return command.exitOverride().allowExcessArguments(false).showSuggestionAfterError(true);
}

/** Refuses a command line that commander itself would let pass. */
export function refuse(command: Command, sentence: string): never {
  return command.error(`error: ${sentence}`, { exitCode: ExitCode.usage, code: 'onqueue.usage' });
}
