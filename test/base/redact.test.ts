import * as fc from '../support/properties';
import { redact } from '../../src/base/redact';

/** Contains no character that ends a value in any of the places where a secret may stand. */
const secret = fc.stringMatching(/^[A-Za-z0-9_!%*^~.-]{6,24}$/).map((text) => `s3cret${text}`);

describe('redact', () => {
  it('masks the password of an address and keeps the rest readable', () => {
    expect(redact('connect ECONNREFUSED redis://ada:hunter2@10.0.0.1:6379/0')).toBe(
      'connect ECONNREFUSED redis://ada:***@10.0.0.1:6379/0',
    );
  });

  it('masks a password without a user, and one with an @', () => {
    expect(redact('redis://:p@ss@host and postgres://u:a/b?c@host/db')).toBe(
      'redis://:***@host and postgres://u:***@host/db',
    );
  });

  it('masks a password behind an address that has none, and up to 512 characters', () => {
    const long = 'p'.repeat(512);
    expect(redact(`a://b://u:hunter2@host redis://u:${long}@host a://u:password@b://u:hunter2@c`)).toBe(
      'a://b:***@host redis://u:***@host a://u:password@b://u:***@c',
    );
    expect(redact(`redis://u:${long}p@host`)).toBe(`redis://u:${long}p@host`);
    expect(redact(`a://b://u:${long}@host`)).toBe('a://b://u:***@host');
  });

  it('leaves addresses without a password and ordinary words alone', () => {
    const text =
      'redis://127.0.0.1:6379/0 refused ada@example.org: token expired, the password is wrong; tokenizer=fast';

    expect(redact(text)).toBe(text);
  });

  it.each([
    ['mysql://host/db?user=ada&password=hunter2&ssl=1', 'mysql://host/db?user=ada&password=***&ssl=1'],
    ['DB_PASSWORD=hunter2 node worker.js', 'DB_PASSWORD=*** node worker.js'],
    ['{"user":"ada","apiKey":"hunter2"}', '{"user":"ada","apiKey":"***"}'],
    [String.raw`{"body":"{\"password\":\"hunter2\"}"}`, String.raw`{"body":"{\"password\":\"***\"}"}`],
    [`{ client_secret: 'hun\\'ter2', host: 'x' }`, `{ client_secret: '***', host: 'x' }`],
    ['Authorization: Basic YWRhOmh1bnRlcjI=', 'Authorization: Basic ***'],
    ['bearer eyJhbGciOiJIUzI1NiJ9.e30.abc', 'bearer ***'],
    ['AWS_SECRET_ACCESS_KEY=abc/def+ghi', 'AWS_SECRET_ACCESS_KEY=***'],
    ['https://host/hook?token=abc#top', 'https://host/hook?token=***'],
  ])('masks the secret in %s', (text, masked) => {
    expect(redact(text)).toBe(masked);
  });

  it('lets no password through, whatever it is made of and wherever it stands', () => {
    const places: ((password: string) => string)[] = [
      (password) => `failed at redis://ada:${password}@host:6379, giving up`,
      (password) => `redis://:${password}@host`,
      (password) => `?password=${password}&x=1`,
      (password) => JSON.stringify({ secret: password, host: 'a' }),
      (password) => JSON.stringify({ text: JSON.stringify({ token: password }) }),
      (password) => `passwd: '${password}'`,
    ];

    fc.assert(
      fc.property(secret, fc.constantFrom(...places), fc.string(), (password, place, before) => {
        expect(redact(`${before} ${place(password)}`)).not.toContain(password);
      }),
      { numRuns: 500 },
    );
  });

  it('changes nothing more when it is applied again', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('a', ':', '/', '@', '=', '?', '&', '"', "'", '{', '}', ' ', 'password', 'token', '://'),
        }),
        (text) => {
          expect(redact(redact(text))).toBe(redact(text));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('takes linear time, even for texts made to slow it down', () => {
    const evil = [
      ...['a.'.repeat(200_000), 'a://'.repeat(100_000), 'password'.repeat(50_000), 'x://u:'.repeat(80_000)],
      ...['a://'.repeat(10_000_000), 'a://u: '.repeat(1_000_000), `${'a://u:'.repeat(100_000)} @`],
    ];

    expect(evil.map((text) => redact(text) === text)).toEqual(evil.map(() => true));
  });

  it('masks a secret of any length', () => {
    const text = redact(`{"token":"${'x'.repeat(20_000_000)}","id":1}`);

    expect(text === '{"token":"***","id":1}').toBe(true);
  });
});
