import { explain, isBusy } from '../../../../src/connections/sql/sqlite/errors';
import { openSqlite } from '../../../../src/connections/sql/sqlite/engine';

const circumstances = { connection: 'database', file: '/data/jobs.sqlite', deadline: 60, origin: undefined };

/** The error with which SQLite itself refuses to write after `pragma`. */
function refusal(pragma: string): unknown {
  const database = openSqlite(':memory:', 0);
  database.exec('CREATE TABLE t (a)');
  database.exec(pragma);
  try {
    for (;;) database.prepare('INSERT INTO t VALUES (?)').run(['x'.repeat(4000)]);
  } catch (error) {
    return error;
  }
}

const message = (error: unknown): string => (explain(error, 'the job was not queued', circumstances) as Error).message;

const raised = (code: string): unknown => Object.assign(new Error('words of the engine'), { code });

describe('an error of SQLite', () => {
  it('for lack of space names the file, what was not done, and the remedy', () => {
    const error = refusal('PRAGMA max_page_count = 5');
    expect(explain(error, 'the job was not queued', circumstances)).toMatchObject({ code: 'E_DATABASE_FULL' });
    expect(message(error)).toBe(
      'No space is left for /data/jobs.sqlite; the job was not queued. Free some space on its disk; what was stored before is intact.',
    );
  });

  it('for lack of write permission says so', () => {
    expect(message(refusal('PRAGMA query_only = 1'))).toBe(
      '/data/jobs.sqlite cannot be written; the job was not queued. ' +
        "Give this process's user the right to write the file and its folder, where SQLite keeps its log.",
    );
  });

  it.each([
    ['SQLITE_CORRUPT', /is damaged; .*\.recover$/],
    ['SQLITE_NOTADB', /is not a SQLite database; .*left as it is/],
    ['SQLITE_IOERR_WRITE', /could not be read or written \(words of the engine\); .* Check its disk\.$/],
    ['SQLITE_ERROR', /refused a statement \(words of the engine\); /],
    ['EACCES', /cannot be made: the folder \/data does not exist/],
  ])('%s is explained', (code, expected) => {
    expect(message(raised(code))).toMatch(expected);
  });

  it.each([
    [1544, 'SQLITE_READONLY', /cannot be written; .* the file and its folder/],
    [8202, 'SQLITE_IOERR', /could not be read or written/],
    [779, 'SQLITE_CORRUPT', /is damaged/],
  ])('that the engine knows by the number %d only is explained as %s', (rawCode, reason, expected) => {
    const error = Object.assign(raised(`UNKNOWN_SQLITE_ERROR_${rawCode}`) as Error, { rawCode });
    expect(explain(error, 'nothing was done', circumstances)).toMatchObject({ facts: { reason } });
    expect(message(error)).toMatch(expected);
  });

  it('keeps the error of the engine as its cause', () => {
    const cause = raised('SQLITE_CORRUPT');
    expect(explain(cause, 'nothing was done', circumstances)).toMatchObject({
      cause,
      facts: { reason: 'SQLITE_CORRUPT' },
    });
  });

  it('is worth a retry only if others hold the file', () => {
    const codes = ['SQLITE_BUSY', 'SQLITE_BUSY_RECOVERY', 'SQLITE_LOCKED', 'SQLITE_FULL', 'SQLITE_IOERR'];
    expect(codes.map((code) => isBusy(raised(code)))).toEqual([true, true, true, false, false]);
    expect(isBusy(null)).toBe(false);
  });
});
