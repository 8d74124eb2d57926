/** Tells what an error of SQLite means for the caller, in an error of ours. */
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Seconds } from '../../../clock/clock';
import { OnqueueError } from '../../../errors/onqueue-error';
import { QueueUnavailableError } from '../../errors';
import { DatabaseFileError, DatabaseFullError } from '../errors';

export interface Circumstances {
  /** The connection's name in the configuration. */
  readonly connection: string;
  readonly file: string;
  readonly deadline: Seconds;
  readonly origin: string | undefined;
}

const codeOf = (error: unknown): string | undefined => {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
};

/** Others hold the file: worth another try. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(codeOf(error) ?? '');
}

/** `consequence`: what was not done, as a clause. Errors of our own pass as they are. */
export function explain(error: unknown, consequence: string, circumstances: Circumstances): unknown {
  if (error instanceof OnqueueError) return error;
  const { file } = circumstances;
  const code = codeOf(error);
  if (isBusy(error)) return busy(error, consequence, circumstances);
  if (code?.startsWith('SQLITE_FULL')) return new DatabaseFullError(file, consequence, { cause: error });
  return new DatabaseFileError(file, `${problem(error, code, file)} (${consequence})`, code, { cause: error });
}

function busy(error: unknown, consequence: string, circumstances: Circumstances): QueueUnavailableError {
  const { connection, file, deadline, origin } = circumstances;
  return new QueueUnavailableError(
    {
      connection,
      store: 'SQLite',
      address: file,
      consequence,
      deadline,
      reason: 'the file is busy: another process keeps it locked',
      origin,
      remedy: 'Was a transaction left open, in a shell or by a backup?',
    },
    { cause: error },
  );
}

function problem(error: unknown, code: string | undefined, file: string): string {
  if (code === undefined || code.startsWith('SQLITE_CANTOPEN')) return whyItCannotBeOpened(error, file);
  if (code.startsWith('SQLITE_NOTADB')) {
    return 'is no SQLite database, and was left as it is. Let `url` name another file, or move this one away.';
  }
  if (code.startsWith('SQLITE_CORRUPT')) {
    return 'is damaged. Restore it from a backup, or save what can be read with: sqlite3 FILE .recover';
  }
  if (/^SQLITE_(READONLY|PERM|AUTH)/.test(code)) {
    return 'cannot be written by this process. Give its user the right to write the file and its folder, where SQLite keeps its log.';
  }
  if (code.startsWith('SQLITE_IOERR')) return `could not be read or written: ${textOf(error)}. Look at its disk.`;
  return `refused a statement: ${textOf(error)}. Were its tables changed by hand?`;
}

/** The engine gives a bare number here; the folder and the file say more. */
function whyItCannotBeOpened(error: unknown, file: string): string {
  const folder = dirname(file);
  if (!existsSync(folder)) return `cannot be made: the folder ${folder} does not exist. Create it, or correct \`url\`.`;
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) {
    return 'is a folder. Let `url` name a file in it.';
  }
  const right = existsSync(file) ? 'read and write it' : `write the folder ${folder}`;
  return `cannot be opened: ${textOf(error)}. Give this process's user the right to ${right}.`;
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
