/** How a command is declared and its command line is read: its name and help, its flags, and what it does. */
import { Command, type ErrorOptions, Help, Option } from 'commander';
import type { QueueManager } from '../application/queue-manager';
import { nearest, oneLine } from '../base/text';
import { type Duration, isSuspiciouslyManySeconds } from '../job/duration';
import { readEnvironmentFile } from './environment-file';
import { EXIT_CODES_HELP, ExitCode } from './errors';
import { type Flag, flagName, type Flags, type Given, PROJECT_FLAGS, type ProjectFlags, valueOf } from './flags';
import type { Output } from './output';
import type { Session } from './session';

interface CommandText {
  readonly name: string;
  readonly alias?: string;
  readonly summary: string;
  /** More sentences, shown above the options. */
  readonly description?: string;
  /** Default: those that all commands have. */
  readonly exitCodes?: typeof EXIT_CODES_HELP;
  /** Complete command lines, each with what it does. */
  readonly examples: readonly (readonly [line: string, meaning: string])[];
  /** Its positional arguments, such as `[ids...]`, and what they mean. */
  readonly words?: readonly [usage: string, meaning: string];
  /** One more, behind these. */
  readonly lastWord?: readonly [usage: string, meaning: string];
}

export interface CommandDeclaration<Table> extends CommandText {
  /** Added to `PROJECT_FLAGS`; a flag of the same name replaces the one there. */
  readonly flags?: Table;
  run(call: Call<Given<Table> & ProjectFlags>): Promise<void> | void;
}

/** Creates a command that prints to a session. */
export type CommandOf = (session: Session) => Command;

/** One parsed command line. */
export class Call<GivenFlags = object> {
  readonly #command: Command;

  /** @param words the positional arguments */
  constructor(
    readonly session: Session,
    command: Command,
    readonly flags: GivenFlags,
    readonly words: readonly string[],
    readonly output: Output = session.output,
  ) {
    this.#command = command;
  }

  /** The same command line, which prints elsewhere. */
  printingTo(output: Output): Call<GivenFlags> {
    return new Call(this.session, this.#command, this.flags, this.words, output);
  }

  get command(): string {
    return this.#command.name();
  }

  /** All commands. */
  get program(): Command {
    return this.#command.parent ?? this.#command;
  }

  /** Loads the project. */
  open(this: Call<ProjectFlags>): Promise<QueueManager> {
    return this.session.open(this.flags);
  }

  /** Refuses a command line that commander itself accepts. */
  refuse(sentence: string): never {
    return this.#command.error(`error: ${sentence}`, { exitCode: ExitCode.usage, code: 'onqueue.usage' });
  }

  /** Reports a problem and sets the exit code, without ending the command. @param details follow, such as an error's text */
  fail(note: string, details = ''): void {
    this.output.note(oneLine(note) + details);
    this.session.exitCode = ExitCode.error;
  }
}

export function defineCommand<const Table extends Flags>(declaration: CommandDeclaration<Table>): CommandOf {
  // Its own flags come first in the help, and replace those of the project.
  const table: Flags = { ...declaration.flags, ...PROJECT_FLAGS, ...declaration.flags };
  return (session) => {
    const command = newCommand(declaration);
    for (const option of Object.entries(table).flatMap(([name, flag]) => optionsOf(name, flag))) {
      command.addOption(option);
    }
    return command.action(() => {
      const { output } = session;
      const given = command.opts<{ readonly json?: boolean; readonly log?: string; readonly wide?: boolean }>();
      output.isJson = given.json === true;
      output.isWide = given.wide === true;
      output.logsJson = given.log === 'json' || ('log' in table && output.isJson);
      const flags = withNewNames(table, given, output) as Given<Table> & ProjectFlags;
      readEnvironmentFile(flags.envFile, session.surroundings);
      return declaration.run(new Call(session, command, flags, command.args));
    });
  };
}

/** A flag with the words that its value may be; empty if it is not one of a few. */
export class WordOption extends Option {
  constructor(
    usage: string,
    help: string,
    readonly words: readonly string[] = [],
  ) {
    super(usage, help);
  }
}

/** The widths to which examples and exit codes are padded, so that their meanings line up. */
const [EXAMPLE_WIDTH, CODE_WIDTH] = [52, 3];

export function newCommand({
  name,
  alias,
  summary,
  description,
  examples,
  exitCodes = EXIT_CODES_HELP,
  ...text
}: CommandText): Command {
  const command = new HelpfulCommand(name)
    // Commander must not exit the process: what was printed must reach its reader first.
    .exitOverride()
    .allowExcessArguments(false)
    .showSuggestionAfterError(false)
    .summary(summary)
    .description([`${summary[0]?.toUpperCase()}${summary.slice(1)}.`, description].filter(Boolean).join('\n\n'))
    .addHelpText('after', ({ command, error }) => {
      const help = command.createHelp();
      const output = command.configureOutput();
      const width = error ? output.getErrHelpWidth?.() : output.getOutHelpWidth?.();
      help.prepareContext(width === undefined ? {} : { helpWidth: width });
      const items = (pairs: CommandText['examples'], width: number): string =>
        pairs.map(([term, meaning]) => help.formatItem(term, width, meaning, help)).join('\n');
      return `\nExamples:\n${items(examples, EXAMPLE_WIDTH)}\n\nExit codes:\n${items(exitCodes, CODE_WIDTH)}`;
    });
  if (alias !== undefined) command.alias(alias);
  for (const words of [text.words, text.lastWord]) if (words !== undefined) command.argument(...words);
  return command;
}

function optionsOf(name: string, flag: Flag<unknown>): Option[] {
  const { value, help, letter, isHidden, isNegative, negation, conflicts, preset } = flag;
  const written = flagName(name);
  // Without the positive form, commander would treat the flag as always given.
  if (isNegative === true) return [new Option(written).hideHelp(), new Option(flagName(`no-${name}`), help)];
  const usage = [
    ...(letter === undefined ? [] : [`-${letter}`]),
    [written, preset === undefined ? value : value?.replace(/<(.*)>/, '[$1]')].join(' ').trim(),
  ].join(', ');
  const option = new WordOption(usage, help, flag.words).hideHelp(isHidden === true);
  if (conflicts !== undefined) option.conflicts(conflicts);
  if (preset !== undefined) option.preset(preset);
  if (flag.read !== undefined) option.argParser((text, before: unknown) => valueOf(flag, written, text, before));
  return negation === undefined ? [option] : [option, new Option(flagName(`no-${name}`), negation)];
}

/** Replaces old names, and numbers that look like milliseconds, by what they mean, and prints a note about each. */
function withNewNames(table: Flags, given: Readonly<Record<string, unknown>>, output: Output): object {
  const flags: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const { newName, isShort = false } = table[name] ?? { help: '' };
    if (newName !== undefined) {
      output.note(`${flagName(name)} is the old name of ${flagName(newName)}; please use the new one.`);
      if (newName in given) continue;
    }
    flags[newName ?? name] = isShort ? withUnits(name, value, output) : value;
  }
  return flags;
}

function withUnits(name: string, value: unknown, output: Output): unknown {
  if (Array.isArray(value)) return value.map((each) => withUnits(name, each, output));
  if (!isSuspiciouslyManySeconds(value)) return value;
  output.note(
    `${flagName(name)}: ${value} means ${value} seconds. If you meant milliseconds, write ${value}ms; otherwise write ${value}s.`,
  );
  return `${value}s` satisfies Duration;
}

/** Puts the meaning of a term below it on a narrow terminal. */
class FittingHelp extends Help {
  override minWidthToWrap = 24;

  override formatItem(term: string, termWidth: number, meaning: string, helper: Help): string {
    const width = this.helpWidth ?? Infinity;
    if (meaning === '' || width - Math.max(termWidth, term.length) - GAPS >= this.minWidthToWrap)
      return super.formatItem(term, termWidth, meaning, helper);
    const lines = helper.boxWrap(meaning, width - BELOW.length).split('\n');
    return [`  ${term}`, ...lines.map((line) => BELOW + line)].join('\n');
  }
}

/** The spaces before and after a term. */
const GAPS = 4;
const BELOW = ' '.repeat(6);

/** Answers a command line that was not understood with what was probably meant, and where to read on. */
class HelpfulCommand extends Command {
  override createHelp(): Help {
    return new FittingHelp();
  }

  override error(message: string, options: ErrorOptions = {}): never {
    const lines = [message, this.#remedy(message, options.code), helpHint(this.parent === null ? '' : this.name())];
    const told = lines.filter((line) => line !== undefined).map((line) => oneLine(line));
    return super.error(told.join('\n'), options);
  }

  // Commander's own suggestions miss `--quue=mail`, because it compares the whole word with the flags.
  #remedy(message: string, code: string | undefined): string | undefined {
    const [, word = ''] = /'(.*?)'/s.exec(message) ?? [];
    if (code === 'commander.unknownCommand') {
      const known = namesOf(this.createHelp().visibleCommands(this));
      // `work` for Laravel's `queue:work`.
      return laravelHint(word) ?? didYouMean(word.replace(/^(queue|horizon):/, ''), known);
    }
    if (code === 'commander.missingArgument') {
      const missing = this.registeredArguments.find((argument) => argument.name() === word);
      return missing && `Give ${missing.description}.`;
    }
    if (code === 'commander.excessArguments' && this.options.some(({ long }) => long === '--queue')) {
      const [first, ...others] = this.args;
      const [all, behind] = [this.args, others].map((words) => `--queue=${words.join(',')}`);
      const command = `onqueue ${this.name()}`;
      return `Name queues with --queue: ${command} ${all}; or, if ${first} is a connection: ${command} ${first} ${behind}`;
    }
    const [, flag] = /^--([^=]+)/.exec(word) ?? [];
    if (code !== 'commander.unknownOption' || flag === undefined) return undefined;
    const value = word.slice(`--${flag}=`.length);
    if (this.registeredArguments.some((argument) => argument.name() === flag)) {
      return `Write it without the flag: onqueue ${this.name()} ${value || `<${flag}>`}`;
    }
    return didYouMean(flag, namesOf(this.createHelp().visibleOptions(this)), '--');
  }
}

/** @param name the name of a command; empty for the program */
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

/** The names that Laravel's users type for commands that are called differently here. */
const COUNTERPARTS: Readonly<Record<string, string>> = {
  'queue:batches-table': 'migrate',
  'queue:continue': 'resume',
  'queue:failed-table': 'migrate',
  'queue:prune-batches': 'prune --batches=1d',
  'queue:prune-failed': 'prune --older-than=1d',
  'queue:retry-batch': 'batch:retry <id>',
  'queue:table': 'migrate',
  'make:queue-batches-table': 'migrate',
  'make:queue-failed-table': 'migrate',
  'make:queue-table': 'migrate',
  'schedule:interrupt': 'restart',
  'schedule:work': 'work',
  horizon: 'work',
  'horizon:continue': 'resume --all',
  'horizon:list': 'workers',
  'horizon:pause': 'pause --all',
  'horizon:status': 'workers',
  'horizon:supervisors': 'workers',
  'horizon:terminate': 'restart',
};

/** What else a user of Laravel should know. */
const REMARKS: Readonly<Record<string, string>> = {
  'schedule:work': 'Each worker also keeps the schedules that its process declares.',
};

/** Our command for one of Laravel's, as a sentence. Undefined if it is none of these. */
function laravelHint(word: string): string | undefined {
  if (!Object.hasOwn(COUNTERPARTS, word)) return undefined;
  return [`Did you mean ${COUNTERPARTS[word]}?`, REMARKS[word]].filter(Boolean).join(' ');
}
