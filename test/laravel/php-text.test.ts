/** PHP's serialized texts, as JavaScript reads and writes them. What PHP itself makes of them: `with-php.test.ts`. */
import { InvalidPayloadError } from '../../src/payload/errors';
import {
  PhpArray,
  PhpEnum,
  PhpFloat,
  PhpObject,
  phpText,
  type PhpValue,
  readPhpText,
} from '../../src/laravel/php-text';
import * as property from '../support/properties';

/** False if it is read. @throws any other error */
function isRefused(text: string): boolean {
  try {
    readPhpText(text);
    return false;
  } catch (error) {
    if (error instanceof InvalidPayloadError) return true;
    throw error;
  }
}

const arrayOf = (...entries: readonly [number | bigint | string, PhpValue][]): PhpArray =>
  new PhpArray(new Map(entries));

describe('a text of PHP', () => {
  const written: readonly (readonly [text: string, value: PhpValue])[] = [
    ['N;', null],
    ['b:1;', true],
    ['b:0;', false],
    ['i:-7;', -7],
    ['i:9223372036854775807;', 9_223_372_036_854_775_807n],
    ['d:1;', new PhpFloat(1)],
    ['d:-0;', new PhpFloat(-0)],
    ['d:0.1;', new PhpFloat(0.1)],
    ['d:0.0001;', new PhpFloat(0.0001)],
    ['d:1.0E-5;', new PhpFloat(0.00001)],
    ['d:10000000000000000;', new PhpFloat(1e16)],
    ['d:1.0E+17;', new PhpFloat(1e17)],
    ['d:-1.5E+300;', new PhpFloat(-1.5e300)],
    ['d:INF;', new PhpFloat(Infinity)],
    ['d:-INF;', new PhpFloat(-Infinity)],
    ['d:NAN;', new PhpFloat(Number.NaN)],
    ['s:5:"é"};";', 'é"};'],
    ['a:0:{}', arrayOf()],
    ['a:3:{i:5;s:1:"b";i:3;s:1:"a";s:1:"k";N;}', arrayOf([5, 'b'], [3, 'a'], ['k', null])],
    ['O:5:"App\\A":1:{s:4:"\0*\0x";i:1;}', new PhpObject('App\\A', new Map([['\0*\0x', 1]]))],
    ['E:13:"App\\Plan:Paid";', new PhpEnum('App\\Plan', 'Paid')],
  ];

  it.each(written)('%s is written as PHP does, and read again', (text, value) => {
    expect(phpText(value)).toBe(text);
    expect(readPhpText(text)).toEqual(value);
  });

  it('may refer to values before', () => {
    const read = readPhpText('a:4:{i:0;O:1:"A":0:{}i:1;r:2;i:2;s:1:"x";i:3;R:4;}') as PhpArray;
    expect([...read.entries.values()]).toEqual([new PhpObject('A'), new PhpObject('A'), 'x', 'x']);
    expect(read.entries.get(1)).toBe(read.entries.get(0));
  });

  it('builds no class and no prototype, whatever it names', () => {
    const read = readPhpText('O:9:"__proto__":1:{s:9:"__proto__";O:6:"Object":0:{}}') as PhpObject;
    expect(read).toBeInstanceOf(PhpObject);
    expect([...read.entries.keys()]).toEqual(['__proto__']);
  });

  const damaged = [
    '',
    'x:1;',
    'i:1',
    'i:;',
    'i:1.5;',
    'i:9223372036854775808;',
    'i:99999999999999999999;',
    'b:2;',
    'd:1e;',
    'd:0x1;',
    's:5:"ab";',
    's:1000000000:"ab";',
    's:-1:"";',
    's:1:"é";',
    'a:1000000000:{}',
    'a:99999999999:{}',
    'a:1:{}',
    'a:1:{a:0:{}i:1;}',
    'a:1:{i:0;R:99;}',
    'a:1:{i:0;r:0;}',
    'r:1;',
    'E:4:"Plan";',
    'E:9:"A:B:C:D:E";',
    'C:3:"Foo":2:{ab}',
    'N;N;',
    `${'a:1:{i:0;'.repeat(1000)}N;${'}'.repeat(1000)}`,
  ];

  it('is refused if it is damaged', () => {
    expect(damaged.filter((text) => !isRefused(text))).toEqual([]);
  });
});

const name = property.stringMatching(/^[A-Z][a-z]{0,5}(\\[A-Z][a-z]{0,5})?$/);
const key = property.oneof(
  property.maxSafeInteger(),
  property.string({ unit: 'binary', maxLength: 6 }).filter((text) => text.isWellFormed()),
);
const { value: anyValue } = property.letrec<{ value: PhpValue }>((tie) => {
  const entries = property.array(property.tuple(key, tie('value')), { maxLength: 4 }).map((list) => new Map(list));
  return {
    value: property.oneof(
      { maxDepth: 5 },
      property.constant(null),
      property.boolean(),
      property.maxSafeInteger(),
      property.double().map((value) => new PhpFloat(value)),
      property.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
      property.tuple(name, name).map(([target, chosen]) => new PhpEnum(target, chosen.replace('\\', ''))),
      entries.map((given) => new PhpArray(given)),
      property.tuple(name, entries).map(([target, given]) => new PhpObject(target, given)),
    ),
  };
});

it('every value is read as it was written', () => {
  property.assert(
    property.property(anyValue, (value) => {
      expect(readPhpText(phpText(value))).toEqual(value);
    }),
    { numRuns: 500 },
  );
});

it('a damaged text is read or refused, and never anything else', () => {
  const damage = property.array(property.tuple(property.nat(), property.nat(127)), { minLength: 1, maxLength: 4 });
  const damages = property.sample(damage, 100);
  const damaged = property.sample(anyValue, 100).flatMap((value) => {
    const text = Buffer.from(phpText(value));
    return damages.map((changes) => {
      const bytes = Buffer.from(text);
      for (const [place, byte] of changes) bytes[place % bytes.length] = byte;
      return bytes.toString();
    });
  });
  expect(damaged.length).toBe(10_000);
  expect(damaged.filter(isRefused).length).toBeGreaterThan(5000);
});
