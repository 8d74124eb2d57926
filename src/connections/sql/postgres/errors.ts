/** Classifies errors of PostgreSQL, and of the connection to it. */
import { wordsOf } from '../../../base/foreign-error';
import type { Trouble } from '../dialect';
import type { ErrorReader } from '../server/caller';

/**
 * The call was rolled back, and may succeed next time: a conflict, or a server that is starting, stopping or changing its
 * role.
 */
const PASSING = /^(40001|40P01|55P03|57P03|57P05|53300|25006)$/;

/** It waited too long for a lock, or two waited for each other. */
export const isHeldUp = (error: unknown): boolean => /^(55P03|40P01|40001)$/.test(codeOf(error) ?? '');

/** One of our tables, columns, functions or sequences is missing. */
const UNMIGRATED = /^(42P01|42703|42883)$/;

/** Data that does not fit a column, a constraint, a trigger's error, a limit of the server. */
const UNFIT = /^(?:2[1237]|3[89]|44|54|P0)\w{3}$/;

/**
 * The connection itself failed. 57P01: an administrator or a shutdown ended it. 57P02: a process crashed, which ends all
 * connections, even one whose commit was already on disk. 25P03: it was silent in the middle of a transaction.
 */
const GONE = /^(08\w{3}|25P03|57P01|57P02)$/;

/** What pg says of a pool that its owner has ended: trying again helps nobody. */
const isEnded = (error: unknown): boolean => wordsOf(error)?.startsWith('Cannot use a pool after calling end') === true;

const LOCKED = 'Somebody has it locked: was a transaction left open, in a shell or by a backup?';

const REMEDIES: readonly (readonly [codes: RegExp, remedy: string])[] = [
  [/^(28000|28P01)$/, 'Check the user and the password.'],
  [/^3D000$/, 'Create the database, or correct its name in `url`.'],
  [/^42501$/, 'Grant this user the rights named in the reply; another user may run `onqueue migrate`.'],
  [/^53100$/, 'Free space on its disk.'],
  [/^53300$/, 'Raise max_connections, or use fewer connections: options.max.'],
  [/^57P0[123]$/, 'It is stopping or starting; try again in a moment.'],
  [
    /^25006$/,
    'It accepts no writes: give the address of its primary if it is a standby; otherwise switch off ' +
      'default_transaction_read_only, which may be set for this user, its database or the server.',
  ],
  [/^(22P05|22021)$/, "The database's encoding lacks a character of it: use a database with ENCODING 'UTF8'."],
  [/^55P03$/, LOCKED],
];

export const postgresErrors: ErrorReader = {
  trouble(error): Trouble {
    const code = codeOf(error);
    if (isEnded(error)) return 'refused';
    if (code === undefined || GONE.test(code)) return 'gone';
    if (PASSING.test(code)) return 'passing';
    if (UNMIGRATED.test(code)) return 'unmigrated';
    return UNFIT.test(code) ? 'unfit' : 'refused';
  },
  remedy(error) {
    if (isEnded(error)) return 'Your program has ended its pool: end it after Queue.close().';
    const code = codeOf(error);
    return code === undefined ? undefined : REMEDIES.find(([codes]) => codes.test(code))?.[1];
  },
};

/**
 * The server's error code; undefined if it did not answer. Codes of the system, such as ECONNREFUSED, come without a
 * severity.
 */
function codeOf(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { readonly code?: unknown; readonly severity?: unknown };
  return typeof code === 'string' && severity !== undefined ? code : undefined;
}
