/** `completion`: the script that lets a shell complete command lines, and its answers, derived from the commands. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { QueueManager } from '../../application/queue-manager';
import { type Call, defineCommand, WordOption } from '../command';
import { text } from '../flags';
import { ownPackage } from '../project-files';
import { listedJobs } from './classes';

const SHELLS = ['bash', 'zsh', 'fish'];

/** The values that a project knows, by their names on a command line. */
const KNOWN: Readonly<Record<ValueName, (manager: QueueManager) => readonly string[]>> = {
  connection: (manager) => manager.connectionNames(),
  job: ({ registry }) => registry.all().map(({ name }) => name),
  schedule: ({ schedules }) => schedules.all.map(({ name }) => name),
  queue: (manager) => [
    ...manager.connectionNames().map((name) => manager.settings(name).queue),
    ...listedJobs(manager).map(({ queue }) => queue),
  ],
};

export const completion = defineCommand({
  name: 'completion',
  summary: 'print a script that lets bash, zsh or fish complete command lines',
  description:
    'Completes commands, flags, files, and the names of connections, queues, jobs and schedules. For names it loads the configuration, but calls no store.',
  examples: [
    ['onqueue completion fish | source', 'in ~/.config/fish/config.fish'],
    ['eval "$(onqueue completion bash)"', 'in ~/.bashrc'],
    ['eval "$(onqueue completion zsh)"', 'in ~/.zshrc, after compinit'],
  ],
  words: ['<shell>', 'bash, zsh or fish'],
  flags: { line: text('<text>', 'a line up to the cursor, whose last word to complete', { isHidden: true }) },
  async run(call) {
    const [shell = ''] = call.words;
    const { line } = call.flags;
    if (!SHELLS.includes(shell)) call.refuse(`there are scripts for ${SHELLS.join(', ')}, but none for '${shell}'.`);
    if (line === undefined) {
      const script = readFileSync(join(ownPackage().folder, 'completions', `onqueue.${shell}`), 'utf8');
      return call.output.result({ shell, script }, script.trimEnd());
    }
    const candidates = await candidatesFor(call.program, line, valuesOf(call, line), call.session.surroundings.folder);
    call.output.result(candidates, ...candidates.map(answerOf));
  },
});

/** The marker tells answers from what a configuration prints while it is loaded. */
const answerOf = ({ word, about }: Candidate): string => `+${word}${about === '' ? '' : `\t${about}`}`;

function valuesOf({ program, session }: Call, line: string): (name: ValueName) => Promise<readonly string[]> {
  return async (name) => {
    if (name === 'command') return program.commands.map((one) => one.name());
    if (name === 'shell') return SHELLS;
    const known = KNOWN[name];
    if (known === undefined) return [];
    const config = givenOn(line, '--config').at(-1);
    const opened = session.open({ config, require: givenOn(line, '--require') });
    // A user who presses Tab should not see errors of the configuration.
    return opened.then(known).catch(() => []);
  };
}

interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** What a value is called on a command line: `connection` for `--connection` or `[connection]`, `job` for `--name <job>`. */
type ValueName = string;

/** Returns the values of that name; empty if nobody knows them. */
type Values = (name: ValueName) => Promise<readonly string[]>;

/** Characters that no shell interprets. Other names are not offered, because the shell would read them differently. */
const HARMLESS = /^[\p{L}\p{N}_.,:/@%+][\p{L}\p{N}_.,:/@%+-]*$/u;

/** @param line up to the cursor, with the name of the program @param folder where files are looked for */
async function candidatesFor(
  program: Command,
  line: string,
  values: Values,
  folder: string,
): Promise<readonly Candidate[]> {
  const [, ...words] = wordsIn(line);
  const last = words.pop() ?? '';
  const [name, ...before] = words;
  const command = program.commands.find((one) => one.name() === name || one.aliases().includes(name ?? ''));
  const all =
    name === undefined ? commandsAndFlags(program) : command === undefined ? [] : await behind(command, before, last);
  return all.filter(({ word }) => word.startsWith(last));

  async function behind(command: Command, before: readonly string[], last: string): Promise<readonly Candidate[]> {
    const [flag, ...value] = last.split('=');
    const own = value.length > 0 ? optionOf(command, flag) : undefined;
    if (own !== undefined) return valuesOf(own, value.join('='), `${flag}=`);
    const waiting = optionOf(command, before.at(-1));
    if (waiting?.required === true) return valuesOf(waiting, last, '');
    if (last.startsWith('-')) return flagsOf(command);
    const argument = argumentOf(command, before);
    const words = argument === undefined ? [] : await named([argument], last, '');
    return words.length > 0 || last !== '' ? words : flagsOf(command);
  }

  function valuesOf(option: Option, given: string, prefix: string): Promise<readonly Candidate[]> {
    const [, placeholder = ''] = /[<[](\w+)/.exec(option.flags) ?? [];
    if (option instanceof WordOption && option.words.length > 0) {
      return Promise.resolve(option.words.map((word) => ({ word: prefix + word, about: '' })));
    }
    return named([option.name(), placeholder], given, prefix);
  }

  /** @param given what is typed so far: of several names separated by commas, the last one is completed */
  async function named(names: readonly ValueName[], given: string, prefix: string): Promise<readonly Candidate[]> {
    const kept = prefix + given.slice(0, given.lastIndexOf(',') + 1);
    const found: string[] = [];
    for (const name of names) found.push(...(/^files?$/.test(name) ? filesFor(given, folder) : await values(name)));
    const harmless = [...new Set(found)].filter((value) => HARMLESS.test(value));
    return harmless.map((value) => ({ word: kept + value, about: '' }));
  }
}

/** The values given for a flag on the line. */
function givenOn(line: string, flag: string): string[] {
  const words = wordsIn(line);
  return words.flatMap((word, place) => {
    if (word === flag) return words.slice(place + 1, place + 2);
    return word.startsWith(`${flag}=`) ? [word.slice(flag.length + 1)] : [];
  });
}

// Quotes are ignored: at worst, too few names are offered after a value with a space.
function wordsIn(line: string): string[] {
  return line.trimStart().split(/\s+/);
}

function commandsAndFlags(program: Command): Candidate[] {
  const commands = program.createHelp().visibleCommands(program);
  return [...commands.map((one) => ({ word: one.name(), about: one.summary() })), ...flagsOf(program)];
}

function flagsOf(command: Command): Candidate[] {
  const options = command.createHelp().visibleOptions(command);
  return options.map(({ long, required, description }) => ({
    word: `${long}${required ? '=' : ''}`,
    about: description,
  }));
}

function optionOf(command: Command, flag: string | undefined): Option | undefined {
  if (flag === undefined) return undefined;
  return command.options.find(({ long, short }) => long === flag || short === flag);
}

/** The name of the argument that comes after these words. */
function argumentOf(command: Command, before: readonly string[]): ValueName | undefined {
  const words = before.filter((word, place) => {
    const isValue = optionOf(command, before[place - 1])?.required === true;
    return !word.startsWith('-') && !isValue;
  });
  const { registeredArguments: all } = command;
  const argument = all[words.length] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined);
  return argument?.name();
}

function filesFor(given: string, folder: string): string[] {
  const start = given.slice(0, given.lastIndexOf('/') + 1);
  try {
    const entries = readdirSync(resolve(folder, dirname(`${start}x`)), { withFileTypes: true });
    return entries.map((entry) => `${start}${entry.name}${entry.isDirectory() ? '/' : ''}`);
  } catch {
    return [];
  }
}
