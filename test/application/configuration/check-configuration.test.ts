import { Redis } from 'ioredis';
import mysql from 'mysql2';
import promised from 'mysql2/promise';
import { Client as PgClient, Pool as PgPool } from 'pg';
import { Job } from '../../../src/job/job';
import { registry } from '../../../src/job/registry';
import { Middleware } from '../../../src/job/middleware';
import { checkConfiguration } from '../../../src/application/configuration/check-configuration';
import { QueueManager } from '../../../src/application/queue-manager';
import { silentLogger } from '../../../src/base/logger';
import { builtInConnectors } from '../../../src/connections/built-in';
import type { Configuration } from '../../../src/application/configuration/configuration';

@Job()
class Declared extends Job {}

@Middleware()
class Timed implements Middleware {
  handle(): void {}
}

class Undeclared {}

const drivers = ['redis', 'database', 'memory', 'sync', 'null'];

function check(configuration: unknown) {
  return checkConfiguration(configuration, { drivers, registry: registry() });
}

function mistakesIn(configuration: unknown): string[] {
  return check(configuration).mistakes.map(({ path, problem }) => `${path}: ${problem}`);
}

function inRedis(config: object): string[] {
  return mistakesIn({ connections: { main: { driver: 'redis', ...config } } });
}

describe('a client', () => {
  const call = (): void => undefined;
  const clients = {
    ioredis: new Redis({ lazyConnect: true }),
    // The package redis is none of our dependencies.
    nodeRedis: { isOpen: true, duplicate: call, sendCommand: call, connect: call },
    pool: new PgPool(),
    single: new PgClient(),
    mysqlPool: mysql.createPool({}),
    promised: promised.createPool({}),
    cluster: mysql.createPoolCluster(),
    mysqlSingle: { threadId: null, connect: call, query: call },
    own: { connect: call },
    none: { query: call },
  };

  it.each([
    ['nodeRedis', 'a client of node-redis (the package redis)'],
    ['pool', 'a pool of pg'],
    ['mysqlPool', 'a pool of mysql2'],
    ['own', 'an object'],
  ] as const)('of redis must be one of ioredis, and not %s', (name, got) => {
    expect(inRedis({ client: clients[name] })).toEqual([
      `connections.main.client: expected a client of ioredis, such as new Redis(…), or url in its place, got ${got}`,
    ]);
  });

  it.each([
    ['ioredis', 'a client of ioredis'],
    ['nodeRedis', 'a client of node-redis (the package redis)'],
    ['single', 'a single client of pg'],
    ['mysqlSingle', 'a single connection of mysql2'],
    ['cluster', 'a cluster of pools of mysql2'],
    ['none', 'an object'],
  ] as const)('of a database must be a pool, and not %s', (name, got) => {
    expect(mistakesIn({ connections: { main: { driver: 'database', pool: clients[name] } } })).toEqual([
      `connections.main.pool: expected a pool of pg or mysql2, or url in its place, got ${got}`,
    ]);
  });

  it('may be one that fits', () => {
    const database = (pool: unknown): string[] => mistakesIn({ connections: { main: { driver: 'database', pool } } });
    const { ioredis, pool, mysqlPool, own } = clients;

    expect([inRedis({ client: ioredis }), ...[pool, mysqlPool, clients.promised, own].map(database)].flat()).toEqual(
      [],
    );
  });
});

describe('a configuration', () => {
  it('may use every key there is', () => {
    const configuration: Configuration<'redis' | 'database' | 'sync' | 'null' | 'memory'> = {
      default: 'redis',
      failed: 'database',
      connections: {
        redis: {
          driver: 'redis',
          url: 'rediss://u:p@h:6379/1',
          queue: 'a',
          prefix: '',
          retryAfter: '1m',
          deadline: 20,
          tls: {},
        },
        database: {
          driver: 'database',
          url: 'sqlite:./x.sqlite',
          table: 'jobs',
          queue: 'b',
          retryAfter: 30,
          deadline: '50s',
        },
        sync: { driver: 'sync', queue: 'c', maxPayload: '64kb' },
        null: { driver: 'null', queue: 'd', maxPayload: 1024 },
        memory: { driver: 'memory', queue: 'e', maxPayload: '512mb', retryAfter: undefined },
      },
      maxPayload: '1.5mb',
      // Everything that a file of jobs may export: `Object.values(jobs)`.
      jobs: [Declared, Timed],
      container: { resolve: () => undefined },
      logger: console,
    };

    expect(check(configuration)).toMatchObject({ mistakes: [], warnings: [] });
  });

  it('is refused with all its mistakes at once, each with its path', () => {
    const mistakes = mistakesIn({
      default: 'rediss',
      failed: 'quux',
      conections: {},
      jobs: [Undeclared, 'SendMail'],
      logger: { info: () => undefined },
      connections: {
        redis: { driver: 'redis', url: 'localhost:6379', retryAfter: '2 minutes', queue: 'a,b', prefx: 'x' },
        other: { driver: 'redsi' },
        third: 7,
      },
    });

    expect(mistakes).toEqual([
      'logger: expected a logger with debug(), info(), warn(), error(), got an object',
      "conections: unknown key; did you mean 'connections'?",
      "connections.redis.queue: 'a,b' is not a valid queue name: a job goes to one queue; a list of queues is the worker's.",
      expect.stringMatching(/^connections\.redis\.retryAfter: '2 minutes' is not a duration\. Write '2m'/),
      "connections.redis.url: expected an address like redis://127.0.0.1:6379/0, got 'localhost:6379'",
      "connections.redis.prefx: unknown key; did you mean 'prefix'?",
      expect.stringContaining("connections.other.driver: unknown driver 'redsi'; did you mean 'redis'?"),
      "connections.third: expected an object like { driver: 'redis' }, got a number",
      "default: there is no connection 'rediss'; did you mean 'redis'?",
      "failed: there is no connection 'quux'; there is redis, other, third",
      'jobs[0]: class Undeclared has neither @Job() nor @Handles() nor @Middleware(); add one above it',
      'jobs[1]: expected a class decorated with @Job(), got a string',
    ]);
  });

  it.each([
    [{ driver: 'redis', url: undefined }, 'connections.main.url: undefined. Is an environment variable not set?'],
    [
      { driver: 'redis', host: undefined, port: 6379 },
      'connections.main.host: undefined. Is an environment variable not set?',
    ],
    [{ driver: 'database', url: undefined }, 'connections.main.url: undefined. Is an environment variable not set?'],
    [{ driver: 'beanstalkd', url: undefined }, 'connections.main.url: undefined. Is an environment variable not set?'],
  ])('is refused if its address is undefined, instead of using the default: %p', (main, mistake) => {
    expect(mistakesIn({ connections: { main } })[0]).toContain(mistake);
  });

  it('may have undefined keys beside an address, and no address at all', () => {
    expect(inRedis({ url: undefined, host: '10.0.0.1' })).toEqual([]);
    expect(inRedis({ password: undefined, port: undefined })).toEqual([]);
  });

  it.each(['bull', 'nul', 'mull'])(
    'may have the custom driver %p, which is never mistaken for a misspelled null',
    (driver) => {
      expect(mistakesIn({ connections: { main: { driver } } })).toEqual([]);
    },
  );

  it('is refused with a lease of null, and the reason', () => {
    expect(inRedis({ retryAfter: null })).toEqual([
      expect.stringMatching(
        /^connections\.main\.retryAfter: null is refused: the job of a worker that died would never/,
      ),
    ]);
  });

  it.each([0, '0s', -1, NaN, true])('is refused with a lease of %p', (retryAfter) => {
    expect(inRedis({ retryAfter })).toEqual([expect.stringMatching(/^connections\.main\.retryAfter: /)]);
  });

  it.each([
    ['lockDuration', 'retryAfter'],
    ['retry_after', 'retryAfter'],
    ['attempts', 'tries'],
    ['defaultJobOptions', '@Job()'],
    ['connection', 'url'],
    ['keyPrefix', 'prefix'],
    ['concurrency', 'worker'],
  ])('is refused with the key %s of other libraries, and a hint to %s', (key, meant) => {
    expect(inRedis({ [key]: 1 })).toEqual([
      expect.stringMatching(new RegExp(`^connections.main.${key}: unknown key; .*${meant}`)),
    ]);
  });

  it('is refused with a connection at the top level, and a hint where it belongs', () => {
    expect(mistakesIn({ redis: { host: 'localhost' } })).toEqual([
      expect.stringMatching(/^redis: unknown key; a connection belongs in connections: \{ redis: /),
    ]);
  });

  it('is refused with two addresses for Redis, and with sentinels but no master name', () => {
    expect(inRedis({ url: 'redis://h', host: 'h' })).toEqual(['connections.main: give only one of url, host']);
    expect(inRedis({ sentinels: [{ host: 'h' }] })).toEqual([
      expect.stringMatching(/^connections\.main\.name: missing/),
    ]);
  });

  it('is refused with both an address and a pool for a database', () => {
    const pool = { connect: async () => ({}) };
    const main = { driver: 'database', url: 'postgres://db.example.org/app', pool };
    expect(mistakesIn({ connections: { main } })).toEqual(['connections.main: give only one of url, pool']);
    expect(mistakesIn({ connections: { main: { driver: 'database', pool, table: 'jobs' } } })).toEqual([]);
  });

  it('is refused without showing a password, even one in the wrong place', () => {
    const mistakes = inRedis({ url: 'https://ada:hunter2@host', password: 2345, host: 'redis://ada:hunter2@host' });

    expect(mistakes.join()).not.toMatch(/hunter2|2345/);
    expect(mistakes).toHaveLength(4);
  });

  it.each([
    ['an invalid port', 'redis://user:topsecret@127.0.0.1:abc'],
    ['# in the password', 'redis://:top#secret@h'],
    ['# after something like a port', 'redis://user:12#topsecret@h'],
    ['/ in the password', 'redis://user:12/topsecret@h'],
    ['? in the password', 'redis://user:12?topsecret@h'],
    ['% in the password', 'redis://u:top%secret@h'],
    ['no host', 'redis://:topsecret'],
    ['a user and no host', 'redis://user:topsecret'],
    ['IPv6 without brackets', 'redis://u:topsecret@fe80::1'],
    ['a space', 'redis://u:topsecret@h h'],
  ])('is refused without the password of a malformed address, and with a hint to encode it: %s', (_what, url) => {
    const [mistake, ...others] = [...inRedis({ url }), ...inRedis({ cluster: [url] })];

    expect(mistake).toMatch(/^connections\.main\.url: .*percent-encode # \/ \? % @ in the password/);
    expect(others).toEqual([mistake?.replace('.url:', '.cluster:')]);
    expect(mistake).not.toMatch(/top|secret|:12/);
  });

  it.each([
    ['unix:///run/redis.sock', '/run/redis.sock'],
    ['redis+unix:///run/redis.sock', '/run/redis.sock'],
    ['redis:///run/redis.sock', '/run/redis.sock'],
    ['redis://:topsecret@/run/redis.sock?db=1', '/run/redis.sock'],
    ['/run/redis.sock', '/run/redis.sock'],
  ])('is told how to give a socket: %s', (url, path) => {
    expect(inRedis({ url })).toEqual([
      `connections.main.url: a Unix socket is no address; leave url out, and give path: '${path}'`,
    ]);
  });

  it.each([
    [
      { url: 'rediss://h?rejectUnauthorized=false' },
      "url: 'rejectUnauthorized' in the query of 'rediss://h' would have",
    ],
    [{ url: 'redis://h?ssl=true' }, "url: 'ssl' in the query of 'redis://h' would have no effect; write rediss://"],
    [{ url: 'redis://h?tls=false' }, "url: 'tls' in the query"],
    [{ url: 'redis://h?useTLS=true' }, "url: 'useTLS' in the query"],
    [{ cluster: ['redis://h?sslmode=require'] }, "cluster: 'sslmode' in the query"],
    [{ url: 'rediss://h', tls: false }, 'tls: false, and url begins with rediss://'],
  ])('is refused with an option of TLS that would have no effect: %j', (config, mistake) => {
    expect(inRedis(config)).toEqual([expect.stringContaining(`connections.main.${mistake}`)]);
  });

  it('may say in its address that it speaks TLS', () => {
    expect([{ url: 'redis://h?tls=true' }, { url: 'rediss://h', tls: true }].flatMap(inRedis)).toEqual([]);
  });

  it('may have an address with an encoded password, and one without a host', () => {
    const urls = [
      'redis://u:top%23secret%40@h:1/2',
      'redis://u:p@ss@h',
      'redis:///2',
      'rediss://[::1]:6379/',
      'redis://h?db=3',
    ];

    expect(urls.flatMap((url) => inRedis({ url }))).toEqual([]);
  });

  it.each([
    [{ url: 'redis://u:topsecret@h/x' }, "url: 'x' in 'redis://***@h/x' is no database"],
    [{ url: 'redis://h/-1' }, "url: '-1' in 'redis://h/-1' is no database"],
    [{ url: 'redis://h/1/2' }, "url: '1/2' in"],
    [{ url: 'redis://h?db=x' }, "url: 'x' in 'redis://h' is no database"],
    [{ db: -1 }, 'db: expected a whole number from 0'],
    [{ db: 'x' }, 'db: expected a whole number from 0'],
    [{ options: { db: 'x' } }, 'options: db: expected a whole number from 0'],
  ])('is refused with an invalid database instead of using database 0: %j', (config, mistake) => {
    expect(inRedis(config)).toEqual([expect.stringContaining(`connections.main.${mistake}`)]);
  });

  it.each([
    ['redis', { url: 'redis://u:topsecret@a:6379,b:6379/0' }, "url: 'redis://***@a:6379,b:6379/0' names several hosts"],
    ['redis', { url: 'redis://h:0' }, "url: '0' in 'redis://h:0' is no port; give a number from 1 to 65535"],
    ['redis', { url: 'redis://h?port=70000' }, "url: '70000' in 'redis://h' is no port"],
    ['redis', { cluster: ['redis://a', 'b:1,c:2'] }, "cluster: 'redis://b:***' names several hosts"],
    ['redis', { cluster: [''] }, "cluster: expected a string, got ''"],
    ['redis', { cluster: ['a:topsecret'] }, "cluster: 'redis://a:***' cannot be read as an address"],
    ['redis', { cluster: [{ host: 'a', port: 70_000 }] }, 'cluster: port: expected a number from 1 to 65535'],
    ['redis', { cluster: [{ host: 'a', port: 6379.5 }] }, 'cluster: port: expected a number from 1 to 65535'],
    ['redis', { cluster: [{}] }, 'cluster: host: expected a string, got undefined'],
    ['redis', { name: 'm', sentinels: ['a:26379'] }, 'sentinels: expected { host, port } for each'],
    ['redis', { name: 'm', sentinels: [{ host: 'a:26379' }] }, 'sentinels: host: expected one host alone'],
    ['redis', { host: 'a,b' }, 'host: expected one host alone'],
    ['redis', { host: '[::1]' }, 'host: expected one host alone'],
    ['beanstalkd', { url: 'beanstalk://a,b' }, "url: 'beanstalk://a,b' names several hosts"],
    ['beanstalkd', { url: 'beanstalk://h:70000' }, "url: '70000' in 'beanstalk://h:70000' is no port"],
    ['sqs', { endpoint: 'http://u:topsecret@h:0' }, "endpoint: '0' in 'http://***@h:0' is no port"],
    ['sqs', { prefix: 'https://' }, "prefix: 'https://' cannot be read as an address"],
    ['database', { url: 'postgres://u:topsecret@a,b/db' }, "url: 'postgres://***@a,b/db' names several hosts"],
    ['database', { url: 'mysql://u:topsecret@h:70000/db' }, "url: '70000' in 'mysql://***@h:70000/db' is no port"],
  ])('of %s is refused with a place where nobody can be: %j', (driver, config, mistake) => {
    const mistakes = mistakesIn({ connections: { main: { driver, ...config } } });
    expect(mistakes).toEqual([expect.stringContaining(`connections.main.${mistake}`)]);
    expect(mistakes[0]).not.toMatch(/topsecret/);
  });

  it('may name hosts in every way that clients know', () => {
    const nodes = ['a', 'a:7000', 'redis://[::1]:7000', { host: '::1', port: 7000 }, { host: 'redis_1' }];
    const configs = [{ cluster: nodes }, { sentinels: [{ host: 'a' }], name: 'm' }, { host: '::1' }, { host: 'a.b-c' }];
    expect(configs.flatMap(inRedis)).toEqual([]);
  });

  it('is refused with the address of another store, shown without its password', () => {
    expect(inRedis({ url: 'postgres://u:topsecret@h/x' })).toEqual([
      expect.stringMatching(/got 'postgres:\/\/\*\*\*@h\/x'$/),
    ]);
    expect(inRedis({ url: 'u:topsecret@h/x' })).toEqual([expect.stringMatching(/got '\*\*\*@h\/x'$/)]);
  });

  it('needs a default if it has several connections', () => {
    const connections = { a: { driver: 'memory' }, b: { driver: 'memory' } };

    expect(mistakesIn({ connections })).toEqual([expect.stringMatching(/^default: missing; .* a, b$/)]);
    expect(mistakesIn({ connections: { a: { driver: 'memory' } } })).toEqual([]);
  });

  it('is refused with connections that name none: the default store would take their place', () => {
    expect(mistakesIn({ connections: {} })).toEqual([expect.stringMatching(/^connections: names no connection/)]);
    expect(mistakesIn({})).toEqual([]);
  });

  it('may have a custom driver with keys of its own, whose connector is added later', () => {
    expect(mistakesIn({ connections: { mine: { driver: 'pigeons', wings: 2 } } })).toEqual([]);
    expect(mistakesIn({ connections: { mine: { driver: 'pigeons', retryAfter: null } } })).toHaveLength(1);
  });

  it.each(['constructor', 'toString', '__proto__'])(
    'may have a custom driver named like a member of every object: %p',
    (driver) => {
      const both = { driver: 'failover', connections: ['main', 'spare'] };
      const configuration = {
        default: 'both',
        connections: { both, main: { driver, anything: 1 }, spare: { driver } },
      };

      expect(check(configuration)).toEqual({ mistakes: [], warnings: [] });
      expect(() =>
        new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, configuration as object).driver(
          'main',
        ),
      ).toThrow(expect.objectContaining({ code: 'E_UNKNOWN_DRIVER' }));
    },
  );

  it.each([
    ['postgres', "its url says which: 'postgres://…'"],
    ['better-sqlite3', "Every database has the driver 'database'"],
    ['kafka', "Queue.addConnector('kafka', …)"],
  ])('is refused with the driver %p, and a hint what to write instead', (driver, remedy) => {
    const manager = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, {
      connections: { main: { driver } },
    } as object);
    expect(() => manager.driver('main')).toThrow(remedy);
  });

  it.each(['constructor', '__proto__'])(
    'is refused with an unknown connection named like a member of every object: %p',
    (name) => {
      const both = { driver: 'failover', connections: ['main', name] };

      expect(mistakesIn({ default: 'both', connections: { both, main: { driver: 'redis' } } })).toEqual([
        expect.stringContaining(`connections.both.connections[1]: there is no connection '${name}'`),
      ]);
    },
  );

  it("is refused with another driver for the name 'sync', which dispatchSync uses", () => {
    expect(mistakesIn({ connections: { sync: { driver: 'memory' } } })).toEqual([
      expect.stringMatching(/^connections\.sync\.driver: the name 'sync' is reserved/),
    ]);
  });

  it('is accepted with a warning if a number of seconds was probably meant as milliseconds', () => {
    const { mistakes, warnings } = check({ connections: { main: { driver: 'redis', retryAfter: 30_000 } } });

    expect(mistakes).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('connections.main.retryAfter: 30000 means 30000 seconds')]);
  });

  it.each([undefined, null, 'redis://host', []])('must be an object, not %p', (value) => {
    expect(mistakesIn(value)).toEqual([expect.stringMatching(/expected an object/)]);
  });
});
