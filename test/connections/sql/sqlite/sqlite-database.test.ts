import { openSqlite, type SqliteStatement } from '../../../../src/connections/sql/sqlite/engine';
import type { SqlValue } from '../../../../src/connections/sql/statement';

const echo = (): SqliteStatement => openSqlite(':memory:', 0).prepare('SELECT ?');

describe('a value bound to a statement', () => {
  it.each([[1], [1.5], [-0], [Infinity], [2 ** 40], [null]])('comes back unchanged: %p', (value) => {
    expect(echo().get([value])).toEqual([value]);
  });

  it.each(['text', 'ä\0ö', ''])('comes back whole where it was a text, read as bytes: %p', (text) => {
    const read = openSqlite(':memory:', 0).prepare('SELECT CAST(? AS BLOB)');
    expect(read.get([text])).toEqual([Buffer.from(text)]);
  });

  it('comes back as bytes if it was bytes', () => {
    expect(echo().get([Buffer.from([0, 255])])).toEqual([Buffer.from([0, 255])]);
    expect(echo().run([Buffer.from([0, 255])]).rows).toEqual([[Buffer.from([0, 255])]]);
  });

  it.each([[undefined], [true], [new Date(0)], [{}], [new Uint8Array(1)], [NaN], [1n], [Symbol('s')]])(
    'is refused if the engine would end the process or store another value: %p',
    (value) => {
      expect(() => echo().get([value as SqlValue])).toThrow(expect.objectContaining({ code: 'E_DATABASE_VALUE' }));
      expect(() => echo().run([value as SqlValue])).toThrow(/cannot be stored; expected a string, a number/);
    },
  );
});
