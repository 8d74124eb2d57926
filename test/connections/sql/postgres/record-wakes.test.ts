/** Listeners for records are woken by NOTIFY, which costs nothing while there are none. */
import { eventually } from '../../../support/eventually';
import { PostgresWorld } from './open-postgres';

const world = new PostgresWorld().forTests();

const record = (id: string) => ({ kind: 'results', id, value: 'secret' });

it('putting a record sends a NOTIFY with its id if there is a listener, and none otherwise', async () => {
  const connection = await world.open();
  const { wake } = connection.records;
  const witness = await world.client();
  const told: unknown[] = [];
  witness.on('notification', ({ payload }) => told.push(payload));
  await witness.query(`LISTEN "onqueue_${world.table}_told"`);

  await wake!.put(record('a'), 60);
  const listening = wake!.listen('results', 'c', () => undefined);
  await eventually(() => listening.isHeard);
  await wake!.put(record('b'), 60);
  await eventually(() => told.length > 0, { of: 'a message' });

  expect(told).toEqual(['results b']);
});

it('a listener that starts while a record is put is woken when that is committed, and finds it', async () => {
  const connection = await world.open();
  const { wake } = connection.records;
  const records = `"${world.table}_records"`;
  // The server blocks after it has decided whom to notify and before it commits.
  await world.rows(
    `create function "${world.table}_gate"() returns trigger language plpgsql as
       'begin perform pg_advisory_xact_lock(1); return null; end';
     create trigger gate after insert on ${records} for each row execute function "${world.table}_gate"()`,
  );
  const gate = await world.client();
  await gate.query('select pg_advisory_lock(1)');
  const put = wake!.put(record('a'), 60);
  const waiting = async (): Promise<number> => {
    const [row] = await world.rows(`select count(*)::int as n from pg_stat_activity where wait_event = 'advisory'`);
    return Number(row!['n']);
  };
  await eventually(async () => (await waiting()) === 1, { of: 'a record that is put' });

  const listening = wake!.listen('results', 'a', () => undefined);
  await eventually(async () => (await waiting()) === 2, { of: 'somebody who begins to listen' });
  expect(listening.isHeard).toBe(false);
  await gate.query('select pg_advisory_unlock(1)');
  await eventually(() => listening.isHeard);

  expect(await connection.records.get('results', 'a')).toBe('secret');
  await put;
});
