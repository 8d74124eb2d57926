/** The options that several commands share, and how their values are read: each refusal names option, value and remedy. */
import { type Command, Option } from 'commander';
import { type Duration, durationSeconds, isSuspiciouslyManySeconds } from '../job/duration';
import { resolveBackoff } from '../job/backoff';
import { InvalidOptionError } from './errors';

/** Where a project's configuration and jobs are. */
export interface ProjectFlags {
  readonly config?: string | undefined;
  readonly require?: readonly string[] | undefined;
  readonly json?: boolean | undefined;
}

export function addProjectOptions(command: Command): Command {
  return command
    .option('--config <file>', 'configuration to use in place of the onqueue.config.* of the project')
    .addOption(
      new Option(
        '--require <files>',
        'load this file too, or all that match a pattern (*, **, ?); may be repeated',
      ).argParser((value: string, before: readonly string[] | undefined) => [...(before ?? []), value]),
    );
}

export function addJsonOption(command: Command, what = 'print one JSON document'): Command {
  return command.option('--json', what);
}

/** For commands that look at one connection. */
export function addConnectionOption(command: Command): Command {
  return command.option('--connection <name>', 'connection to use in place of the default one');
}

/** Several names in one value, or the option repeated. */
export function queueOption(description: string): Option {
  return new Option('--queue <names>', description).argParser((value: string, before: string | undefined) =>
    before === undefined ? value : `${before},${value}`,
  );
}

/** Of failed jobs, which may have come from any. */
export function failedConnectionOption(): Option {
  return new Option('--connection <name>', 'only of those that came from this connection');
}

/** The names in `high,default`. */
export function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

export function countOption(flags: string, description: string, least = 0): Option {
  const [name = flags] = flags.split(' ');
  return new Option(flags, description).argParser((value: string) => {
    const count = /^\d+$/.test(value) ? Number(value) : NaN;
    if (Number.isSafeInteger(count) && count >= least) return count;
    throw new InvalidOptionError(name, value, `Give a whole number from ${least}.`);
  });
}

export function portOption(flags: string, description: string): Option {
  const [name = flags] = flags.split(' ');
  return new Option(flags, description).argParser((value: string) => {
    const port = /^\d{1,5}$/.test(value) ? Number(value) : NaN;
    if (port <= 65_535) return port;
    throw new InvalidOptionError(name, value, 'Give a port: 1 to 65535, or 0 for any that is free.');
  });
}

export function durationOption(flags: string, description: string): Option {
  const [name = flags] = flags.split(' ');
  return new Option(flags, description).argParser((value: string) => durationOf(value, name));
}

/** Durations separated by commas, or `1s..10m`: doubled from the one up to the other. */
export function backoffOption(flags: string, description: string): Option {
  const [name = flags] = flags.split(' ');
  return new Option(flags, description).argParser((value: string) => {
    const [first, max, ...more] = value.split('..').map((part) => part.trim());
    if (max === undefined || more.length > 0) return value.split(',').map((part) => durationOf(part.trim(), name));
    const { delays } = resolveBackoff({ exponential: durationOf(first!, name), max: durationOf(max, name) }, name);
    return delays.map((delay): Duration => `${delay}s`);
  });
}

// A bare number is seconds, as in Laravel.
function durationOf(text: string, option: string): Duration {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  durationSeconds(value, option);
  return value as Duration;
}

/** Sentences about bare numbers that were probably meant as milliseconds. */
export function suspiciousDurations(flags: object): string[] {
  return (
    Object.entries(flags)
      // `--max-time=3600` is how Laravel's own pages have it.
      .filter(([name]) => ['timeout', 'backoff', 'delay', 'sleep', 'rest', 'grace', 'for'].includes(name))
      .flatMap(([name, value]) => [value].flat().map((each: unknown) => ({ name, each })))
      .filter(({ each }) => isSuspiciouslyManySeconds(each))
      .map(
        ({ name, each }) =>
          `--${name}: ${String(each)} means ${String(each)} seconds. If milliseconds were meant, write ${String(each)}ms; if not, ${String(each)}s says so.`,
      )
  );
}

/** The command line that gives these flags again. */
export function commandLineOf(flags: object): string[] {
  return Object.entries(flags).flatMap(([key, value]: [string, unknown]) => {
    const name = `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (value === undefined || value === false) return [];
    if (value === true) return [name];
    if (key === 'require' && Array.isArray(value)) return value.map((each) => `${name}=${String(each)}`);
    return [`${name}=${[value].flat().map(String).join(',')}`];
  });
}
