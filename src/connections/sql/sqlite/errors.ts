/** Turns errors of SQLite into ours. */
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { wordsOf } from '../../../base/foreign-error';
import type { Seconds } from '../../../base/clock';
import { OnqueueError } from '../../../base/onqueue-error';
import { QueueUnavailableError } from '../../errors';
import { fileUnusable, diskFull, databaseRefused } from '../errors';

export interface Circumstances {
  readonly connection: string;
  readonly file: string;
  readonly deadline: Seconds;
  readonly origin: string | undefined;
}

/** What libsql has no name for, such as a folder that may not be written (1544), goes by the lowest byte of its number. */
const NAMES: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  14: 'SQLITE_CANTOPEN',
};

/** SQLite's error code; undefined if the engine or the file system failed before SQLite was reached. */
function codeOf(error: unknown): string | undefined {
  const { code, rawCode } = (error ?? {}) as { readonly code?: unknown; readonly rawCode?: unknown };
  if (typeof code === 'string' && code.startsWith('SQLITE_')) return code;
  return typeof rawCode === 'number' ? NAMES[rawCode & 0xff] : undefined;
}

/** Data that does not fit, a constraint, a trigger's error. */
const UNFIT = /^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH|RANGE)/;

/** The database refuses this particular value; it would accept others. */
export const isUnfit = (error: unknown): boolean => UNFIT.test(codeOf(error) ?? '');

/** Others have the file locked: worth another try. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(codeOf(error) ?? '');
}

/** `consequence`: what was not done, as a clause. Errors of ours are returned as they are. */
export function explain(error: unknown, consequence: string, circumstances: Circumstances): unknown {
  if (error instanceof OnqueueError) return error;
  const { file } = circumstances;
  const code = codeOf(error);
  if (isBusy(error)) return busy(error, consequence, circumstances);
  if (code?.startsWith('SQLITE_FULL')) return diskFull({ file, consequence }, { cause: error });
  if (code !== undefined && UNFIT.test(code)) {
    const { connection } = circumstances;
    return databaseRefused({ connection, address: file, reply: wordsOf(error) ?? '', consequence }, { cause: error });
  }
  const { what, remedy } = problem(error, code, file);
  return fileUnusable({ file, reason: code, what, consequence, remedy }, { cause: error });
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

interface Problem {
  readonly what: string;
  readonly remedy: string;
}

function problem(error: unknown, code: string | undefined, file: string): Problem {
  if (code === undefined || code.startsWith('SQLITE_CANTOPEN')) return whyItCannotBeOpened(error, file);
  if (code.startsWith('SQLITE_NOTADB')) {
    return {
      what: 'is not a SQLite database',
      remedy: 'It was left as it is: let `url` name another file, or move it away.',
    };
  }
  if (code.startsWith('SQLITE_CORRUPT')) {
    return {
      what: 'is damaged',
      remedy: `Restore it from a backup, or save what can be read: sqlite3 ${file} .recover`,
    };
  }
  if (/^SQLITE_(READONLY|PERM|AUTH)/.test(code)) {
    return {
      what: 'cannot be written',
      remedy: "Give this process's user the right to write the file and its folder, where SQLite keeps its log.",
    };
  }
  if (code.startsWith('SQLITE_IOERR')) {
    return { what: `could not be read or written (${wordsOf(error)})`, remedy: 'Check its disk.' };
  }
  return { what: `refused a statement (${wordsOf(error)})`, remedy: 'Were its tables changed by hand?' };
}

/** The engine only gives a number here; the folder and the file tell more. */
function whyItCannotBeOpened(error: unknown, file: string): Problem {
  const folder = dirname(file);
  if (!existsSync(folder)) {
    return { what: `cannot be made: the folder ${folder} does not exist`, remedy: 'Create it, or correct `url`.' };
  }
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return { what: 'is a folder', remedy: 'Let `url` name a file in it.' };
  const right = found === undefined ? `write the folder ${folder}` : 'read and write it';
  return { what: `cannot be opened (${wordsOf(error)})`, remedy: `Give this process's user the right to ${right}.` };
}
