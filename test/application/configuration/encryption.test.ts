import { registry } from '../../../src/job/registry';
import { checkConfiguration } from '../../../src/application/configuration/check-configuration';

const KEY = Buffer.alloc(32, 7).toString('base64');

function mistakesIn(encryption: unknown): string[] {
  const configuration = { connections: { main: { driver: 'memory' } }, encryption };
  const { mistakes } = checkConfiguration(configuration, { drivers: ['memory'], registry: registry() });
  return mistakes.map(({ path, problem }) => `${path}: ${problem}`);
}

it('keys of 32 bytes are accepted, in both alphabets of base64', () => {
  const url = Buffer.alloc(32, 0xfb).toString('base64url');
  expect(mistakesIn({ use: 'b', keys: { a: KEY, b: url } })).toEqual([]);
});

it('each mistake is named, and no key is shown', () => {
  const short = Buffer.alloc(24, 7).toString('base64');
  const found = mistakesIn({
    use: '2026-12',
    keys: { '2026-11': short, bad: 'not a key!', none: undefined, 'a.b': KEY },
  });

  expect(found).toEqual([
    "encryption.keys['2026-11']: has 24 bytes; give 32, in base64",
    "encryption.keys['bad']: is no text in base64; openssl rand -base64 32 makes one",
    "encryption.keys['none']: undefined. Is an environment variable not set? openssl rand -base64 32 makes one",
    "encryption.keys['a.b']: a key is called by up to 64 letters, digits, - and _",
    "encryption.use: '2026-12' is none of the keys; did you mean '2026-11'?",
  ]);
  expect(found.join()).not.toContain(short);
});

it('what is missing or strange is named too', () => {
  expect(mistakesIn('secret')).toEqual(["encryption: expected an object, got 'secret'"]);
  expect(mistakesIn({ use: 'a' })).toEqual([
    "encryption.keys: expected keys by name, such as { '2026-11': process.env.KEY }",
  ]);
  expect(mistakesIn({ key: KEY, keys: { a: KEY } })).toEqual([
    'encryption.key: not an option; give { use, keys }',
    'encryption.use: expected the name of a key; there are a',
  ]);
});
