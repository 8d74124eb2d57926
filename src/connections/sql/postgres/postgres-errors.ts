/** What an error of PostgreSQL, or of the way to it, means for a call. */
import type { Trouble } from '../dialect';
import type { ErrorReader } from '../server/server-caller';

/** It was rolled back, and may go through the next time: a conflict, a server that starts, stops or changes its part. */
const PASSING = /^(40001|40P01|55P03|57P03|57P05|53300|25006)$/;

/** A table, a column, a function or a sequence of ours is not there. */
const UNMIGRATED = /^(42P01|42703|42883)$/;

/** Data that a column does not hold, a constraint, a trigger's word, a limit of the server's. */
const UNFIT = /^(?:2[1237]|3[89]|44|54|P0)\w{3}$/;

/**
 * The connection itself failed. 57P01 is said when an administrator or a shutdown ends it, 57P02 to all when a process
 * crashed: also to one whose commit was on disk already; 25P03 to one that was silent in the middle of a transaction.
 */
const GONE = /^(08\w{3}|25P03|57P01|57P02)$/;

const REMEDIES: readonly (readonly [codes: RegExp, remedy: string])[] = [
  [/^(28000|28P01)$/, 'Check the user and the password.'],
  [/^3D000$/, 'Create the database, or correct its name in `url`.'],
  [/^42501$/, 'Give this user the rights to what the reply names; `onqueue migrate` may be run by another one.'],
  [/^53100$/, 'Make room on its disk.'],
  [/^53300$/, 'Raise max_connections, or have fewer connections: options.max.'],
  [/^57P0[123]$/, 'It stops or starts; try again in a moment.'],
  [/^25006$/, 'This is a standby; give the address of its primary.'],
];

export const postgresErrors: ErrorReader = {
  trouble(error): Trouble {
    const code = codeOf(error);
    if (code === undefined || GONE.test(code)) return 'gone';
    if (PASSING.test(code)) return 'passing';
    if (UNMIGRATED.test(code)) return 'unmigrated';
    return UNFIT.test(code) ? 'unfit' : 'refused';
  },
  remedy(error) {
    const code = codeOf(error);
    return code === undefined ? undefined : (REMEDIES.find(([codes]) => codes.test(code))?.[1] ?? 'See its log.');
  },
};

/** The server's own; undefined: it did not answer. The system's codes, such as ECONNREFUSED, are no such five letters. */
function codeOf(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { readonly code?: unknown; readonly severity?: unknown };
  return typeof code === 'string' && severity !== undefined ? code : undefined;
}
