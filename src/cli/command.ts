/** How each command of the tree is made: its name, what it does, examples, and the exit codes that all share. */
import { Command, type ErrorOptions } from 'commander';
import { nearest } from '../base/nearest';
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

/** Says of a command line that was not understood what was probably meant, and where to read on. */
class HelpfulCommand extends Command {
  override error(message: string, options: ErrorOptions = {}): never {
    const lines = [message, this.#remedy(message, options.code), helpHint(this.parent === null ? '' : this.name())];
    return super.error(lines.filter((line) => line !== undefined).join('\n'), options);
  }

  // Commander's own suggestions miss `--quue=mail`: it looks for a flag like the whole of it.
  #remedy(message: string, code: string | undefined): string | undefined {
    const [, word = ''] = /'(.*?)'/s.exec(message) ?? [];
    if (code === 'commander.unknownCommand') {
      // Laravel's `queue:work`.
      return didYouMean(word.replace(/^queue:/, ''), namesOf(this.createHelp().visibleCommands(this)));
    }
    if (code === 'commander.missingArgument') {
      const missing = this.registeredArguments.find((argument) => argument.name() === word);
      return missing && `Give ${missing.description}.`;
    }
    if (code === 'commander.excessArguments' && this.options.some(({ long }) => long === '--queue')) {
      const [first, ...others] = this.args;
      const [all, behind] = [this.args, others].map((words) => `--queue=${words.join(',')}`);
      const command = `onqueue ${this.name()}`;
      return `Queues come by --queue: ${command} ${all}; or, where ${first} is a connection: ${command} ${first} ${behind}`;
    }
    const [, flag] = /^--([^=]+)/.exec(word) ?? [];
    if (code !== 'commander.unknownOption' || flag === undefined) return undefined;
    const value = word.slice(`--${flag}=`.length);
    if (this.registeredArguments.some((argument) => argument.name() === flag)) {
      return `Here it stands without the flag: onqueue ${this.name()} ${value || `<${flag}>`}`;
    }
    return didYouMean(flag, namesOf(this.createHelp().visibleOptions(this)), '--');
  }
}

export function newCommand(name: string, { summary, description, examples }: CommandText): Command {
  const lines = examples.map(([line, meaning]) => `  ${line.padEnd(EXAMPLE_WIDTH)}  ${meaning}`);
  return (
    new HelpfulCommand(name)
      // Nothing of commander's may end the process: what was printed must reach its reader first.
      .exitOverride()
      .allowExcessArguments(false)
      .showSuggestionAfterError(false)
      .summary(summary)
      .description([`${summary[0]?.toUpperCase()}${summary.slice(1)}.`, description].filter(Boolean).join('\n\n'))
      .addHelpText('after', `\nExamples:\n${lines.join('\n')}\n\n${EXIT_CODES_HELP}`)
  );
}

/** Refuses a command line that commander itself would let pass. */
export function refuse(command: Command, sentence: string): never {
  return command.error(`error: ${sentence}`, { exitCode: ExitCode.usage, code: 'onqueue.usage' });
}

/** @param name of a command; empty: the program */
export function helpHint(name = ''): string {
  return `See ${['onqueue help', name].join(' ').trimEnd()}.`;
}

function namesOf(known: readonly { name(): string }[]): string[] {
  return known.map((one) => one.name());
}

function didYouMean(word: string, known: readonly string[], prefix = ''): string | undefined {
  const meant = nearest(word, known)[0] ?? known.find((one) => one.startsWith(word));
  return meant && `Did you mean ${prefix}${meant}?`;
}
