import { Pool } from 'pg';
import { schemaIn, url as check } from '../../../src/connections/sql/address';
import { connectMysql } from '../../../src/connections/sql/mysql/connection';
import { connectPostgres } from '../../../src/connections/sql/postgres/connection';
import { databaseDriver, type DatabaseConfig } from '../../../src/connections/sql/driver';
import { connectDatabase } from '../../../src/connections/sql/opening';
import { meantToPass } from '../../support/meant-to-pass';
import { freePort } from '../../support/redis-server';
import { systemClock } from '../../../src/base/clock';
import { silent } from './open-database';

const context = { name: 'main', clock: systemClock, logger: silent, deadline: 60, table: 'jobs' };

describe('the address of a database server', () => {
  it.each([
    'postgres://app:s3c#ret@127.0.0.1:5432/app',
    'postgres://app:98#76@127.0.0.1/app',
    'postgres://app:98/76@127.0.0.1/app',
    'postgresql://app:98?76@127.0.0.1/app',
    'mysql://app:s3c#ret@127.0.0.1:3306/app',
    'mysql://app:p@ss/word@127.0.0.1/app',
    'mysql://app:100%@127.0.0.1:3306/app',
    'mariadb://app:%zz@127.0.0.1/app',
  ])('is refused if its password is not encoded, without showing it: %s', (url) => {
    const problem = check(url);
    expect(problem).toMatch(/percent-encode # \/ \? % @ in the password/);
    expect(problem).not.toMatch(/s3c|ret|98|76|100%|%zz|p@ss/);
  });

  it.each([
    ['mysql://app:pw@db/app?ssl=true', /ssl=true in 'mysql:\/\/\*\*\*@db\/app'.*write ssl={"rejectUnauthorized":true}/],
    ['mysql://app:pw@db/app?sslmode=require', /'sslmode'.*which would ignore it/],
    ['mysql://app:pw@db/app?ssl-mode=REQUIRED', /'ssl-mode'.*write ssl=/],
    ['mysql://app:pw@db/app?sslaccept=strict', /'sslaccept'/],
    ['mysql://app:pw@db/app?schema=app', /'schema'.*name it behind the host/],
    ['postgres://app:pw@db/app?sslmode=allow', /sslmode=allow.*write sslmode=verify-full/],
    ['postgres://app:pw@db/app?ssl=false', /ssl=false.*sslmode=disable/],
    ['postgres://app:pw@db/app?sslaccept=strict', /'sslaccept'.*write sslmode=verify-full/],
    ['postgres://app:pw@db/app?tls=true', /'tls'/],
    ['postgres://app:pw@db/app?SSL=true', /'SSL'/],
    ['postgres://app:pw@db/app?ssl_mode=require', /'ssl_mode'/],
    ['postgres://app:pw@db/app?requiressl=1', /'requiressl'/],
    ['mysql://app:pw@db/app?SSL={}', /'SSL'/],
    ['mysql://app:pw@db/app?requireTLS=1', /'requireTLS'/],
    ['postgres://app:pw@/run/postgresql/app', /'run\/postgresql\/app' .* is no database.*a socket behind \?host=$/],
    ['mysql://app:pw@db/app/', /'app\/' in .* is no database/],
    ['mysql://app:pw@%2Frun%2Fmysqld.sock/app', /a socket behind \?socketPath=$/],
    ['mysql://app:pw@db/app?host=/run/mysqld.sock', /'host'.*write \?socketPath=\/run\/mysqld\.sock$/],
    ['postgres:///app?socket=/run/postgresql', /'socket'.*write \?host=\/run\/postgresql$/],
  ])('is refused if the client would ignore what it says: %s', (url, problem) => {
    expect(check(url)).toMatch(problem);
  });

  it.each([
    'sqlite:./a#b%c.sqlite',
    'postgres://app:s3c%23ret@db:5432/app?sslmode=require&application_name=me@host',
    'postgres://app:pw@/app?host=/run/postgresql',
    'postgres:///app?host=/run/postgresql&user=app',
    'postgres://%2Frun%2Fpostgresql/app',
    'postgres://db/app?ssl=true&schema=queue',
    'mysql://app:100%25@db/app?socketPath=/run/mysqld.sock',
    'mysql://app@db/app?ssl={"rejectUnauthorized":true}',
    'mysql://app@db/app?ssl=false',
  ])('may be %s', (url) => {
    expect(check(url)).toBeUndefined();
  });

  it('may name the schema of the tables', () => {
    expect(schemaIn('postgres://db/app?sslmode=require&schema=my%20queue')).toBe('my queue');
    expect(schemaIn('postgres://db/app?myschema=queue')).toBeUndefined();
  });

  it.each(['a%b', 'a+b', ''])('may name a schema that is not encoded, or none: %p', (schema) => {
    const url = `postgres://app@db/app?schema=${schema}`;
    expect(() => connectPostgres({ driver: 'database', url }, context)).not.toThrow();
  });

  it('may be one of IPv6', async () => {
    const [url, deadline] = [`mysql://app@[::1]:${await freePort()}/app`, meantToPass(1)];
    const mysql = connectMysql({ driver: 'database', url }, { ...context, deadline });
    expect(mysql.address).toBe(url);
    await expect(mysql.push('default', [{ payload: '{}' }])).rejects.toThrow(/::1:\d+\)/);
    await mysql.close();
    const postgres = connectPostgres({ driver: 'database', url: 'postgres://app@[::1]:5432/app' }, context);
    expect(postgres.address).toBe('postgres://app@[::1]:5432/app');
    await postgres.close();
  });

  it.each([
    ['postgres://app@db/app', { sslmode: 'require' }, 'sslmode'],
    ['mysql://app@db/app', { tls: {} }, 'tls'],
  ])('has no options about TLS that the client would ignore: %s %p', (url, options, name) => {
    expect([...databaseDriver.problems!({ url, options })]).toEqual([
      ['options', expect.stringMatching(`^'${name}' is no option of the client, .* write ssl: \\{`)],
    ]);
  });

  it.each([
    ['mysql://app@db/app', { ssl: { rejectUnauthorized: true }, connectionLimit: 2 }],
    ['postgres://app@db/app', { ssl: true, sslnegotiation: 'direct' }],
    ['postgres://app@db/app', undefined],
    [undefined, { max: 2 }],
  ])('may have the options of the client: %s %p', (url, options) => {
    expect([...databaseDriver.problems!({ url, options })]).toEqual([]);
  });

  it('has a code if configuration did not check it', () => {
    const mysql = (): unknown => connectMysql({ driver: 'database', url: 'mysql://app:100%@db/app' }, context);
    expect(mysql).toThrow(expect.objectContaining({ code: 'E_DATABASE_URL' }));
    expect(mysql).toThrow(/percent-encode/);
  });

  it('names a file of its TLS options that cannot be read', () => {
    const url = 'postgres://app:hunter2@db/app?sslrootcert=/no/such/ca.pem';
    expect(() => connectPostgres({ driver: 'database', url }, context)).toThrow(
      /\/no\/such\/ca\.pem, which its options name, cannot be read \(ENOENT\)/,
    );
  });

  it.each([true, 'require', 1])('has no TLS that mysql2 would refuse: %p', (ssl) => {
    const connect = (): unknown =>
      connectMysql({ driver: 'database', url: 'mysql://app@db/app', options: { ssl } }, context);
    expect(connect).toThrow(expect.objectContaining({ code: 'E_DATABASE_TLS' }));
  });
});

it('another thread opens the tables by their address, and none that only a pool of the user or an uncopied option leads to', () => {
  const given: readonly Partial<DatabaseConfig>[] = [
    { url: 'sqlite:/tmp/thread.sqlite' },
    { url: 'postgres://app@db/app' },
    { url: 'postgres://app@db/app', options: { password: () => 'secret' } },
    { pool: new Pool() },
  ];
  const connections = given.map((config) => connectDatabase({ driver: 'database', ...config }, context));
  expect(connections.map(({ threadAccess }) => (threadAccess?.data as DatabaseConfig | undefined)?.url)).toEqual([
    'sqlite:/tmp/thread.sqlite',
    'postgres://app@db/app',
    undefined,
    undefined,
  ]);
});
