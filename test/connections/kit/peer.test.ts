import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { peerError } from '../../../src/connections/kit/requirements';

const need = { connection: 'main', driver: 'database on PostgreSQL', peer: 'pg' };

function missing(name: string): Error {
  return Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
}

describe('a package that a driver needs', () => {
  it.each([
    ['pg', 'sql/postgres/client.ts'],
    ['mysql2', 'sql/mysql/connection.ts'],
    ['@aws-sdk/client-sqs', 'sqs/caller.ts'],
    ['libsql', 'sql/sqlite/engine.ts'],
  ])('is optional to bundlers, because its require stands directly within try: %s', (peer, file) => {
    const source = readFileSync(join(__dirname, '../../../src/connections', file), 'utf8');

    expect(source).toMatch(new RegExp(`try \\{\\n( +//.*\\n)? +return require\\('${peer}'\\)`));
  });

  it('is named with the command that installs it if it is missing', () => {
    expect(peerError(need, missing('pg'))).toMatchObject({
      message:
        "Connection 'main' (database on PostgreSQL) needs the package pg, which is not installed. Run: npm install pg",
    });
  });

  it.each([missing('pg-types'), new Error('broken')])('says itself what else is wrong with it: %s', (error) => {
    expect(peerError(need, error)).toBe(error);
  });
});
