import { loadPeer } from '../../../src/connections/kit/peer';

const need = { connection: 'main', driver: 'database on PostgreSQL', peer: 'pg' };

function missing(name: string): Error {
  return Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
}

const failing = (error: Error) => () => {
  throw error;
};

describe('a package that a driver needs', () => {
  it('is the result of its loader', () => {
    expect(loadPeer(need, () => 'pg')).toBe('pg');
  });

  it('is named with the command that installs it if it is missing', () => {
    expect(() => loadPeer(need, failing(missing('pg')))).toThrow(
      "Connection 'main' (database on PostgreSQL) needs the package pg, which is not installed. Run: npm install pg",
    );
  });

  it.each([missing('pg-types'), new Error('broken')])('passes other errors of its loader on: %s', (error) => {
    expect(() => loadPeer(need, failing(error))).toThrow(error);
  });
});
