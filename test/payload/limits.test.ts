import { Exclude } from 'class-transformer';
import { encodeInstance, encodeValue } from '../../src/payload/encoder';
import { decodeEnvelope, decodeJob } from '../../src/payload/envelope';
import { InvalidPayloadError, UnserializableValueError } from '../../src/payload/errors';
import * as fc from '../support/properties';
import { classesOf, definitionOf } from './classes';
import { Vault } from '../../src/payload/vault';

class Holder {
  handle(): void {}
}

class Mapped {
  @Exclude()
  hidden = 1;
  handle(): void {}
}

const classes = classesOf();
const definition = definitionOf(Holder);

function read(command: unknown, types: object): object {
  const text = JSON.stringify({ job: 'onqueue', data: { commandName: 'Holder', command, types } });
  return decodeJob(decodeEnvelope(Buffer.from(text)), definition, classes, new Vault());
}

/** Sends a value through a payload and back. */
function carried(value: unknown): unknown {
  const { command, types } = encodeValue({ value }, classes, 'Holder');
  return (read(command, types ?? {}) as { value: unknown }).value;
}

/** The result, or undefined if the value is refused. */
function attempted<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch (error) {
    if (error instanceof UnserializableValueError) return undefined;
    throw error;
  }
}

const longIntegers = (count: number): bigint[] =>
  Array.from({ length: count }, (_, at) => (BigInt(at + 1) << 64n) + 5n);

describe('a value that would take long to read', () => {
  it.each<[string, string, unknown, object]>([
    ['a pattern with sets of strings', 'the flag v', { source: '\\p{RGI_Emoji}', flags: 'v' }, { '': 'RegExp' }],
    ['a long pattern', 'more than 1000 characters', { source: '(?:a|b)*'.repeat(200), flags: '' }, { '': 'RegExp' }],
    [
      'very many character properties',
      'more \\p{…} than the 500',
      Array.from({ length: 8 }, () => ({ source: '\\P{L}\\p{L}'.repeat(40), flags: 'u' })),
      Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`/${at}`, 'RegExp'])),
    ],
    ['a long host', 'host has more than 255', `http://${'xn--a.'.repeat(50)}/`, { '': 'URL' }],
    ['a long internationalised label', 'more than 63', `http://xn--${'a9'.repeat(100)}.com/`, { '': 'URL' }],
    ['a URL with line breaks', 'more than 63', `https:/\\a@${'一丁七'.repeat(30)}/`, { '': 'URL' }],
    ['one with line breaks', 'more than 63', `ht\ntps://\t${'一丁七'.repeat(30)}:80?`, { '': 'URL' }],
    [
      'large bigints as members',
      'more than 1000 bigints',
      longIntegers(1001).map(String),
      { ...Object.fromEntries(longIntegers(1001).map((_, at) => [`/${at}`, 'bigint'])), '': 'Set' },
    ],
    [
      'large bigints as keys',
      'more than 1000 bigints',
      longIntegers(1001).map((integer) => [String(integer), 1]),
      { ...Object.fromEntries(longIntegers(1001).map((_, at) => [`/${at}/0`, 'bigint'])), '': 'Map' },
    ],
  ])('is refused by a worker: %s', (_, reason, value, types) => {
    const placed = Object.fromEntries(Object.entries(types).map(([pointer, type]) => [`/value${pointer}`, type]));
    const reading = (): object => read({ value }, placed);

    expect(reading).toThrow(InvalidPayloadError);
    expect(reading).toThrow(reason);
    expect(reading).toThrow('/data/command/value');
  });

  it.each<[string, unknown]>([
    ['a RegExp with the flag v, which a queue cannot carry. Make it in handle().', new RegExp('\\p{RGI_Emoji}', 'v')],
    ['a RegExp of more than 1000 characters', new RegExp('a'.repeat(1001))],
    [
      'a RegExp with more \\p{…} than the 500',
      Array.from({ length: 8 }, () => new RegExp('\\p{L}\\P{L}'.repeat(40), 'u')),
    ],
    ['a URL whose host has more than 255', new URL(`http://${'abc.'.repeat(80)}com/`)],
    ['a URL whose host has more than 63 characters between', new URL(`http://${'a'.repeat(64)}.com/`)],
    ['a collection by more than 1000 bigints beyond 64 bits', new Set(longIntegers(1001))],
    ['a collection by more than 1000 bigints beyond 64 bits', new Map(longIntegers(1001).map((one) => [one, 1]))],
    ['a bigint of more than 10000 digits', 1n << 30_000_000n],
  ])('is refused at dispatch: %s', (message, value) => {
    const dispatch = (): unknown => encodeValue(value, classes, 'Holder');

    expect(dispatch).toThrow(UnserializableValueError);
    expect(dispatch).toThrow(message);
  });

  it.each<[string, unknown]>([
    ['the longest pattern', new RegExp('a'.repeat(1000), 'iu')],
    ['many character properties', Array.from({ length: 10 }, () => new RegExp('\\p{L}'.repeat(50), 'u'))],
    ['a host of the longest labels', new URL(`https://user:pw@${'a'.repeat(63)}.${'b'.repeat(63)}.example:8080/a?b#c`)],
    ['numeric addresses', [new URL('http://[2001:db8::1]:80/'), new URL('ws://127.0.0.1/')]],
    ['a long address without a host', new URL(`data:text/plain,${'x'.repeat(5000)}`)],
    ['a host that is not a domain name', new URL(`redis://${'a'.repeat(300)}/0`)],
    ['a long path', new URL(`http://a.example/${'b'.repeat(5000)}?${'c'.repeat(5000)}`)],
    ['many small bigints as keys', new Set(Array.from({ length: 2000 }, (_, at) => BigInt(at)))],
    ['a thousand large bigints', new Set(longIntegers(1000))],
    ['a large set of strings', new Set(Array.from({ length: 20_000 }, (_, at) => `id-${at}`))],
  ])('is not %s', (_, value) => {
    expect(carried(value)).toEqual(value);
  });

  it('is refused if it is an object with too many properties for class-transformer to compare with each other', () => {
    const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`key${at}`, at]));
    const mapped = { ...definition, name: 'Mapped', target: Mapped };
    const payload = JSON.stringify({ job: 'Mapped', data: many });

    expect(() => decodeJob(decodeEnvelope(Buffer.from(payload)), mapped, classes, new Vault())).toThrow(
      InvalidPayloadError,
    );
    expect(() => encodeInstance(Object.assign(new Mapped(), many), classes, 'Mapped')).toThrow(
      'Mapped is an object with more than 10000 properties that class-transformer goes through',
    );
  });

  it('is never dispatched: whatever is sent can be read', () => {
    const host = fc.array(fc.string({ unit: fc.constantFrom('a', '-', 'ü', '一'), maxLength: 70 }), { maxLength: 6 });
    const urls = host.map((labels) => `http://x${labels.join('.x')}/`).filter((text) => URL.canParse(text));
    const patterns = fc
      .tuple(fc.constantFrom('a', '\\p{L}', '[^\\P{Lu}]', '(?:b)'), fc.integer({ min: 0, max: 400 }))
      .map(([part, count]) => new RegExp(part.repeat(count), 'u'));
    const value = fc.array(
      fc.oneof(
        urls.map((text) => new URL(text)),
        patterns,
      ),
      { maxLength: 4 },
    );

    const encoded = value
      .map((values) => ({ values, sent: attempted(() => encodeValue({ values }, classes, 'Holder')) }))
      .filter(({ sent }) => sent !== undefined);

    fc.assert(
      fc.property(encoded, ({ values, sent }) => {
        expect(read(sent!.command, sent!.types ?? {})).toEqual(Object.assign(new Holder(), { values }));
      }),
    );
  });

  it('does not include an error, as reading one captures no stack', () => {
    const prepare = Error.prepareStackTrace;
    const recorded: number[] = [];
    Error.prepareStackTrace = (_error, frames) => recorded.push(frames.length);
    try {
      expect(read({ error: { message: 'm' } }, { '/error': 'Error' })).toMatchObject({ error: { stack: 'Error: m' } });
    } finally {
      Error.prepareStackTrace = prepare;
    }
    expect(recorded.filter((frames) => frames > 0)).toEqual([]);
    expect(new Error('later').stack).toContain('limits.test');
  });
});
