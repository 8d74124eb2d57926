import { inspect } from 'node:util';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import { builtInConnectors, drivers } from '../../src/connections/built-in';
import { Job } from '../../src/job/job';
import type { ConnectionConfig } from '../../src/connections/driver';
import { QueueManager } from '../../src/application/queue-manager';
import { JobBus } from '../../src/dispatch/bus';
import { Worker } from '../../src/worker/worker';
import { RecordingLogger } from '../support/application';
import { startMariadbServer, type MariadbServer } from '../support/mariadb-server';
import { startPostgresServer, type PostgresServer } from '../support/postgres-server';
import { startRedisServer, type RedisServer } from '../support/redis-server';
import { SqsServer } from '../support/sqs-server';
import { meantToPass } from '../support/meant-to-pass';

/** A password that a URL must encode. No output may contain it, encoded or not. */
const PASSWORD = 'c4nary/p@ss w0rd%';
const ENCODED = encodeURIComponent(PASSWORD);
const PAYLOAD = 'c4nary-of-the-payload';

@Job({ name: 'secretive' })
class Secretive extends Job {
  constructor(readonly text = PAYLOAD) {
    super();
  }
  handle(): void {}
}

/** Everything that can be seen of a thrown error. */
function seen(error: unknown): string {
  const hidden = inspect(error, { depth: Infinity, showHidden: true, maxStringLength: Infinity });
  return [hidden, inspect(error, { depth: Infinity }), JSON.stringify(error), String((error as Error).stack)].join(
    '\n',
  );
}

function expectNoSecret(text: string): void {
  for (const secret of [PASSWORD, ENCODED, decodeURI(ENCODED), 'c4nary', PAYLOAD]) expect(text).not.toContain(secret);
}

/** All output about a store while a job is dispatched, read and failed, and the store is diagnosed. */
async function told(config: ConnectionConfig, logger = new RecordingLogger()): Promise<string[]> {
  const environment = { connectors: builtInConnectors, logger };
  const errors: unknown[] = [];
  let manager: QueueManager;
  try {
    manager = new QueueManager(environment, { connections: { main: config } });
  } catch (error) {
    return [seen(error)];
  }
  manager.onError((error) => void errors.push(error));
  const attempt = async (act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      errors.push(error);
    }
  };
  await attempt(async () => new JobBus(() => manager).dispatch(new Secretive()));
  await attempt(() => new JobBus(() => manager).bulk([new Secretive(), new Secretive()]));
  await attempt(() => manager.connection().pushRaw(JSON.stringify({ job: 'secretive', data: PAYLOAD })));
  await attempt(() => manager.connection().later('1s', 'secretive', { text: PAYLOAD }));
  await attempt(() => manager.connection().size());
  await attempt(async () => manager.driver().diagnose?.());
  await attempt(() => manager.failed.list());
  await attempt(() => manager.close());
  expect(errors.length).toBeGreaterThan(0);
  return [...errors.map(seen), inspect(logger.lines, { depth: Infinity })];
}

/** Makes the tables, and makes them refuse rows. */
async function withRule(url: string, ...rules: string[]): Promise<void> {
  const manager = new QueueManager(
    { connectors: builtInConnectors, logger: new RecordingLogger() },
    { connections: { main: { driver: 'database', url } } },
  );
  await manager.driver().migrations?.run();
  await manager.close();
  if (url.startsWith('postgres')) {
    const client = new Client({ connectionString: url });
    await client.connect();
    for (const rule of rules) await client.query(rule);
    await client.end();
  } else {
    const client = await createConnection(url);
    for (const rule of rules) await client.query(rule);
    await client.end();
  }
}

async function expectTold(config: ConnectionConfig, words: string): Promise<void> {
  const texts = await told(config);
  expect(texts.join('\n')).toContain(words);
  for (const text of texts) expectNoSecret(text);
}

const QUICK = { deadline: meantToPass('1s') } as const;
/** For a store that never answers, because each call waits until its deadline. */
const UNHEARD = { deadline: meantToPass('200ms') } as const;

describe('no password and no payload is revealed by', () => {
  const servers: { stop(): Promise<void> }[] = [];
  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  async function redis(...args: string[]): Promise<RedisServer> {
    const server = await startRedisServer({ args });
    servers.push(server);
    return server;
  }

  describe('Redis', () => {
    const ways: readonly (readonly [string, string[], (server: RedisServer) => ConnectionConfig, string])[] = [
      [
        'with a wrong password in the address',
        ['--requirepass', 'other'],
        ({ port }) => ({ driver: 'redis', url: `redis://default:${ENCODED}@127.0.0.1:${port}/0`, ...QUICK }),
        'WRONGPASS',
      ],
      [
        'with a wrong password beside the address',
        ['--requirepass', 'other'],
        ({ port }) => ({ driver: 'redis', host: '127.0.0.1', port, username: 'u', password: PASSWORD, ...QUICK }),
        'WRONGPASS',
      ],
      [
        'that does not support passwords',
        ['--rename-command', 'AUTH', ''],
        ({ port }) => ({ driver: 'redis', host: '127.0.0.1', port, password: PASSWORD, ...QUICK }),
        'unknown command',
      ],
      [
        'that does not support scripts',
        ['--rename-command', 'EVALSHA', '', '--rename-command', 'EVAL', ''],
        ({ url }) => ({ driver: 'redis', url, ...QUICK }),
        'unknown command',
      ],
      [
        'that is full',
        ['--maxmemory', '1', '--maxmemory-policy', 'noeviction'],
        ({ url }) => ({ driver: 'redis', url, ...QUICK }),
        'OOM',
      ],
      [
        'that a user may not use',
        '--user c on >c4nary-pw ~* &* +ping +info +client +hello'.split(' '),
        ({ port }) => ({ driver: 'redis', url: `redis://c:c4nary-pw@127.0.0.1:${port}/0`, ...QUICK }),
        'NOPERM',
      ],
      [
        'that is asked as a sentinel',
        [],
        ({ port }) => ({
          driver: 'redis',
          sentinels: [{ host: '127.0.0.1', port }],
          name: 'main',
          sentinelPassword: PASSWORD,
          ...UNHEARD,
        }),
        'Redis at',
      ],
      [
        'that is not there, with TLS',
        [],
        () => ({
          driver: 'redis',
          url: `rediss://u:${ENCODED}@127.0.0.1:1/0`,
          tls: { key: `-----BEGIN PRIVATE KEY-----\n${PASSWORD}\n-----END PRIVATE KEY-----`, cert: 'none' },
          ...UNHEARD,
        }),
        'Redis at',
      ],
    ];

    it.each(ways)('a server %s', async (_, args, configOf, words) => {
      // ioredis writes there that a password was given needlessly.
      const warn = jest.spyOn(console, 'warn').mockReturnValue();
      await expectTold(configOf(await redis(...args)), words);
      expectNoSecret(inspect(warn.mock.calls));
    });
  });

  describe('PostgreSQL', () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgresServer();
      servers.push(server);
    });

    const withPassword = (): string => server.url.replace('://onqueue', `://onqueue:${ENCODED}`);

    it('a server without the database', () =>
      expectTold({ driver: 'database', url: withPassword().replace(/\/[^/]*$/, '/none'), ...QUICK }, 'none'));

    it('an invalid port', () =>
      expectTold(
        { driver: 'database', url: `postgres://u:${ENCODED}@127.0.0.1:99999/x`, ...QUICK },
        'give a number from 1 to 65535',
      ));

    it('a table that refuses the row', async () => {
      await withRule(withPassword(), 'ALTER TABLE jobs ADD CONSTRAINT short CHECK (length(payload) < 10)');

      await expectTold({ driver: 'database', url: withPassword(), ...QUICK }, 'short');
    });

    it('a table that refuses the row and quotes it', async () => {
      await withRule(
        withPassword(),
        `CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE 'no: %', NEW.payload; END $$ LANGUAGE plpgsql`,
        'CREATE TRIGGER refuse BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()',
      );

      await expectTold({ driver: 'database', url: withPassword(), ...QUICK }, 'no: ');
    });
  });

  describe('MariaDB', () => {
    let server: MariadbServer;
    beforeAll(async () => {
      server = await startMariadbServer();
      servers.push(server);
    });

    it('a server with another password', () =>
      expectTold({ driver: 'database', url: server.url.replace(':secret', `:${ENCODED}`), ...QUICK }, 'Access denied'));
  });

  describe('SQLite', () => {
    it('a file in a missing folder', () =>
      expectTold({ driver: 'database', url: 'sqlite:/nowhere/at/all.sqlite', ...QUICK }, '/nowhere/at'));
  });

  describe('SQS', () => {
    const credentials = { accessKeyId: `AKIA${PASSWORD}`, secretAccessKey: PASSWORD, sessionToken: PASSWORD };

    it('a service that refuses', async () => {
      const server = await SqsServer.start();
      servers.push(server);
      server.fail({ action: 'SendMessageBatch', kind: 'refuse', calls: 9, code: `InvalidParameterValue` });
      server.fail({ action: 'SendMessage', kind: 'refuse', calls: 9, code: `InvalidParameterValue` });
      const { endpoint, prefix } = server;

      await expectTold({ driver: 'sqs', region: 'a', endpoint, prefix, credentials, ...QUICK }, 'SQS');
    });

    it('an endpoint with a password that is not there', () =>
      expectTold(
        { driver: 'sqs', region: 'a', endpoint: `http://u:${ENCODED}@127.0.0.1:1`, credentials, ...UNHEARD },
        'SQS',
      ));
  });

  describe('a configuration with a mistake', () => {
    const address = `redis://u:${ENCODED}@h`;
    const keys = drivers.flatMap(({ name, keys: known }) => Object.keys(known).map((key) => [name, key] as const));

    const thrownBy = (act: () => unknown): unknown => {
      try {
        return act();
      } catch (error) {
        return error;
      }
    };
    const open = (configuration: unknown): unknown =>
      thrownBy(
        () =>
          new QueueManager({ connectors: builtInConnectors, logger: new RecordingLogger() }, configuration as object),
      );

    it.each(keys)('in an address at %s.%s', (driver, key) => {
      for (const value of [address, [address], { url: address }, [{ password: PASSWORD }]]) {
        const error = open({ connections: { main: { driver, [key]: value }, [address]: 1 }, default: address });
        expect(error).toMatchObject({ code: 'E_CONFIGURATION' });
        expectNoSecret(seen(error));
      }
    });

    it('in an address in place of a name', async () => {
      const manager = new QueueManager(
        { connectors: builtInConnectors, logger: new RecordingLogger() },
        { connections: { main: { driver: 'memory' } } },
      );
      const bus = new JobBus(() => manager);
      const errors = [
        ...[{ driver: address }, address, [address], { failed: address }, { maxPayload: address }].map(open),
        thrownBy(() => manager.connection(address)),
        thrownBy(() => new Secretive().onQueue(`${address} `)),
        thrownBy(() => Job({ queue: address, timeout: address } as object)(class Wrong extends Job {})),
        thrownBy(() => new Worker({ connection: address, queue: address, timeout: address as never })),
        await bus
          .dispatch(new Secretive())
          .onConnection(address)
          .catch((error: unknown) => error),
      ];

      for (const error of errors) {
        expect(seen(error)).toContain('E_');
        expectNoSecret(seen(error));
      }
    });
  });
});
