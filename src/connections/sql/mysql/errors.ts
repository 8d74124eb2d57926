/** Classifies errors of MySQL and MariaDB, and of the connection to them. */
import type { Trouble } from '../dialect';
import type { ErrorReader } from '../server/caller';

const DEADLOCK = 1213;
const LOCK_WAIT_TIMEOUT = 1205;

/** The savepoint does not exist: outside of a transaction none is kept. */
const NO_SAVEPOINT = 1305;

/** A subquery returned more than one row: our own way to abort a packet. */
const TWO_ROWS = 1242;

/**
 * The call was rolled back, and may succeed next time: a conflict, a locked row, or a server that is full, starting,
 * stopping or changing its role.
 */
const PASSING: ReadonlySet<number> = new Set([1020, 1040, 1053, 1203, 1205, DEADLOCK, 1290, 1317, 1412, 1792, 1836]);

/** One of our tables or columns is missing. */
const UNMIGRATED: ReadonlySet<number> = new Set([1054, 1146]);

/** Data that does not fit a column, a constraint, a trigger's error: by classes, and by number for those without a class. */
const UNFIT_STATE = /^(?:2[123]|4[45])/;
const UNFIT: ReadonlySet<number> = new Set([139, 1118, 1153, 1364, 1366, 1442, 3819]);

/** With these the server ends the connection: it was killed, or silent for too long. */
const GONE: ReadonlySet<number> = new Set([1152, 1159, 1160, 1161, 1184, 1927, 4031]);

const REMEDIES: readonly (readonly [numbers: readonly number[], remedy: string])[] = [
  [[1045, 1698], 'Check the user and the password.'],
  [[1049], 'Create the database, or correct its name in `url`.'],
  [[1044, 1142, 1143], 'Grant this user the rights named in the reply; another user may run `onqueue migrate`.'],
  [[1021, 1114], 'Free space on its disk.'],
  [[1040, 1203], 'Raise max_connections, or use fewer connections: options.connectionLimit.'],
  [[1053], 'It is stopping or starting; try again in a moment.'],
  [[1205], 'Somebody has jobs locked: was a transaction left open, in a shell or by a backup?'],
  [[1290, 1792, 1836], 'This server is read-only; give the address of its primary.'],
  [[1665], 'Set its binlog_format to ROW or MIXED: its jobs are written under READ COMMITTED.'],
];

export const mysqlErrors: ErrorReader = {
  trouble(error): Trouble {
    const number = numberOf(error);
    if (number === undefined || GONE.has(number)) return 'gone';
    if (PASSING.has(number)) return 'passing';
    if (UNMIGRATED.has(number)) return 'unmigrated';
    return isUnfit(error, number) ? 'unfit' : 'refused';
  },
  remedy(error) {
    const number = numberOf(error);
    if (number === undefined) return undefined;
    return REMEDIES.find(([numbers]) => numbers.includes(number))?.[1];
  },
};

function isUnfit(error: unknown, number: number): boolean {
  const { sqlState } = error as { readonly sqlState?: unknown };
  return UNFIT.has(number) || (typeof sqlState === 'string' && UNFIT_STATE.test(sqlState));
}

export const isDeadlock = (error: unknown): boolean => numberOf(error) === DEADLOCK;

/** It waited too long for a lock, or two waited for each other. */
export const isHeldUp = (error: unknown): boolean => isDeadlock(error) || numberOf(error) === LOCK_WAIT_TIMEOUT;

export const isNoSavepoint = (error: unknown): boolean => numberOf(error) === NO_SAVEPOINT;

export const isTwoRows = (error: unknown): boolean => numberOf(error) === TWO_ROWS;

/** The server's error number; undefined if it did not answer. The system's own are negative. */
function numberOf(error: unknown): number | undefined {
  const { errno } = (error ?? {}) as { readonly errno?: unknown };
  return typeof errno === 'number' && errno > 0 ? errno : undefined;
}
