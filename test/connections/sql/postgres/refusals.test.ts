import { inspect } from 'node:util';
import { describeRefusals } from '../refusals';
import { payload } from '../open-database';
import { PostgresWorld } from './open-postgres';

const world = new PostgresWorld().forTests();

const trigger = (name: string, event: string, condition: string): Promise<unknown> =>
  world.rows(`
    CREATE FUNCTION ${name}_${world.table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not here'; END $$;
    CREATE TRIGGER ${name} BEFORE ${event} ON ${world.table} FOR EACH ROW WHEN (${condition}) EXECUTE FUNCTION ${name}_${world.table}()`);

describeRefusals(
  async () => {
    await world.connect().migrations.run();
    return {
      connections: { main: { driver: 'database', url: world.server.url, table: world.table } },
      default: 'main',
    };
  },
  {
    longExceptions: async () => {
      await world.open();
      await world.rows(`ALTER TABLE failed_${world.table} ADD CHECK (length(exception) < 1000)`);
    },
    delays: async () => {
      await world.open();
      await world.rows(`ALTER TABLE ${world.table} ADD CHECK (due_at IS NULL)`);
    },
    removals: async () => {
      await world.open();
      await trigger('stay', 'DELETE', `OLD.payload LIKE '%"stays"%'`);
    },
    additions: async () => {
      await world.open();
      await trigger('closed', 'INSERT', `NEW.payload LIKE '%"closed"%'`);
    },
  },
);

it('a job that a constraint refuses is reported with the name of the constraint', async () => {
  const connection = await world.open();
  await world.rows(`ALTER TABLE ${world.table} ADD CONSTRAINT no_secrets CHECK (payload NOT LIKE '%secret%')`);
  const pushing = connection.push('default', [{ payload: payload('secret') }]);
  await expect(pushing).rejects.toMatchObject({ code: 'E_DATABASE_REFUSED' });
  await expect(pushing).rejects.toThrow(/violates check constraint "no_secrets"\); the job was not queued\./);
  // The server puts the row into the details of its error.
  const { cause } = (await pushing.catch((error: unknown) => error)) as Error;
  expect(inspect(cause)).not.toContain('"id":"secret"');
});

it('later jobs can be pushed under the same call name after some were refused', async () => {
  const connection = await world.open();
  await world.rows(`ALTER TABLE ${world.table} ADD CONSTRAINT no_secrets CHECK (payload NOT LIKE '%secret%')`);
  for (const id of ['a', 'secret', 'b', 'secret', 'c']) {
    await connection.push('default', [{ payload: payload(id) }]).catch(() => undefined);
  }
  expect(await connection.queues.counts('default')).toMatchObject({ ready: 3 });
  expect(await world.rows(`SELECT client FROM ${world.table}_calls`)).toHaveLength(1);
});
