/** How an error is shown: errors that a user can fix by message and code, unexpected ones with their stack. */
import { dirname, join, sep } from 'node:path';
import { oneLine } from '../base/plain-text';
import { OnqueueError } from '../base/onqueue-error';
import { redact } from '../base/redact';
import { configFileFailed, ConfigurationError } from '../application/errors';
import { requiredFileFailed } from './errors';

/** The folder of this package's compiled files, or of its sources. */
const OURS = `${dirname(__dirname)}${sep}`;

/** Frames that tell users nothing, because they only lead to their file. */
const NOT_THEIRS = [OURS, join('node_modules', 'commander'), 'node:internal'];

export function errorText(error: unknown): string {
  const peer = missingPeer(error);
  if (peer !== undefined) return `onqueue needs the package ${peer}, which is not installed. Run: npm install ${peer}`;
  if (!(error instanceof OnqueueError)) {
    return redact(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  // The mistake is in one of the user's files, and the stack leads there.
  const isTheirs = configFileFailed.is(error) || requiredFileFailed.is(error);
  // Others have several lines only if they echo a word of the command line that has.
  const message = isTheirs || error instanceof ConfigurationError ? error.message : oneLine(error.message);
  const told = `${message} (${error.code})`;
  const frames = isTheirs && error.cause instanceof Error ? framesOf(error.cause) : [];
  return [told, ...frames].join('\n');
}

/** A peer dependency that is missing: even our own files cannot be loaded without it. */
function missingPeer(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('requireStack' in error) || !Array.isArray(error.requireStack)) return undefined;
  const [, name] = /^Cannot find module '([^'./][^']*)'/.exec(error.message) ?? [];
  const [first] = error.requireStack as readonly unknown[];
  return typeof first === 'string' && first.startsWith(OURS) ? name : undefined;
}

function framesOf({ stack = '', message }: Error): string[] {
  // The stack of a syntax error begins with the source line, before the message.
  const [excerpt = '', rest = ''] = stack.split(message, 2);
  const before = excerpt.includes('\n') ? excerpt.split('\n').slice(0, -1) : [];
  const frames = rest.split('\n').filter((line) => /^\s+at /.test(line));
  return [...before, ...frames.filter((line) => !NOT_THEIRS.some((part) => line.includes(part)))];
}
