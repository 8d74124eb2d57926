/** How often a connection to a database server is tried, depending on the error. */
import { systemClock, type Clock } from '../../../src/base/clock';
import { mysqlErrors } from '../../../src/connections/sql/mysql/errors';
import { postgresErrors } from '../../../src/connections/sql/postgres/errors';
import { timeOf } from '../../../src/connections/sql/jobs';
import { Database, type Tables } from '../../../src/connections/sql/database';
import { ServerCaller, type SqlClient } from '../../../src/connections/sql/server/caller';
import { MovedClock } from '../../support/moved-clock';
import { raw } from '../../../src/connections/sql/statement';

const DEADLINE = 60;

const work = () => timeOf({ now: () => raw('now()') });

function callerOn(
  errors: typeof mysqlErrors,
  acquire: () => Promise<SqlClient>,
  clock: Clock = systemClock,
): ServerCaller {
  const pool = { acquire, close: () => Promise.resolve() };
  const settings = { name: 'database', address: 'sql://db.test', clock, deadline: DEADLINE };
  return new ServerCaller({ ...settings, origin: undefined, product: 'the server', errors, pool });
}

/** The result of a call for which no connection can be made, and the number of tries. */
async function ask(
  errors: typeof mysqlErrors,
  code: string,
): Promise<{ readonly tried: number; readonly end: unknown }> {
  let tried = 0;
  const acquire = () => {
    tried += 1;
    return Promise.reject(Object.assign(new Error(`getaddrinfo ${code} db.test`), { code }));
  };
  // By a real clock and a short deadline, the first try may take all the time on a busy machine.
  const clock = new MovedClock();
  const asked = callerOn(errors, acquire, clock).run({ consequence: 'nothing was done' }, work);
  const end = await clock.passing(asked).catch((error: unknown) => error);
  return { tried, end };
}

describe.each([
  ['PostgreSQL', postgresErrors, 'The server does not support SSL connections'],
  ['MySQL', mysqlErrors, 'Server does not support secure connection'],
])('%s', (_product, errors, withoutTls) => {
  it('is tried once if its host is unknown, because waiting does not help', async () => {
    const { tried, end } = await ask(errors, 'ENOTFOUND');

    expect(tried).toBe(1);
    expect(end).toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      message: expect.stringMatching(/cannot be reached \(.*ENOTFOUND.*Check the name of its host\./),
    });
  });

  it('is tried until the deadline if its host refuses connections or its name cannot be resolved for now', async () => {
    for (const code of ['ECONNREFUSED', 'EAI_AGAIN']) {
      const { tried, end } = await ask(errors, code);

      expect(tried).toBeGreaterThan(1);
      expect(end).toMatchObject({ facts: { deadline: DEADLINE, reason: expect.stringContaining(code) } });
    }
  });

  it('is asked for TLS if it has answered that it speaks none', async () => {
    const clock = new MovedClock();
    const caller = callerOn(errors, () => Promise.reject(new Error(withoutTls)), clock);

    const asked = caller.run({ consequence: 'nothing was done' }, work);

    await expect(clock.passing(asked)).rejects.toThrow('Is it running, and does it speak TLS on this port?');
  });

  it('takes no connection for a call that comes after the close, as one of several pieces may', async () => {
    const acquire = jest.fn(() => Promise.reject(new Error('the pool is closed')));
    const caller = callerOn(errors, acquire);
    await caller.close();

    await expect(caller.run({ consequence: 'nothing was done' }, work)).rejects.toMatchObject({
      code: 'E_CONNECTION_CLOSED',
    });
    expect(acquire).not.toHaveBeenCalled();
  });

  it('carries out a call that came before the close, although the tables are looked at first', async () => {
    const rows = [['7']];
    const client: SqlClient = { identity: {}, run: async () => [{ rows, written: 0 }], release: () => undefined };
    const caller = callerOn(errors, async () => client);
    const check = async (consequence: string): Promise<void> => void (await caller.run({ consequence }, work));
    const [tables, none] = [{ check } as unknown as Tables, {} as never];
    const asked = new Database('database', 'here', none, caller, tables, none).run('nothing was done', work);
    await caller.close();

    expect(await asked).toBe(7);
  });
});
