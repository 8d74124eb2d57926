import * as fc from '../support/properties';
import type { Class } from '../../src/base/class';
import { decodeValue } from '../../src/payload/envelope';
import { encodeInstance, encodeValue, type Types } from '../../src/payload/encoder';
import { InvalidPayloadError, UnknownClassError, UnserializableValueError } from '../../src/payload/errors';
import { differences } from './exactly';
import { anyValue } from './values';
import { classesOf } from './classes';

class RateLimited {
  constructor(
    readonly key: string,
    readonly until: Date,
  ) {}
}

/** As the libraries of databases have it: it is asked when it is awaited. */
class Query {
  readonly then: Promise<number>['then'];

  constructor(answer: Promise<number>) {
    this.then = answer.then.bind(answer);
  }
}

class Logger {
  level = 'info';
}

const known = new Map<string, Class>([['RateLimited', RateLimited]]);
const classes = classesOf(known);

const encode = (value: unknown) => encodeValue(value, classes, 'X');
const overTheWire = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const roundTrip = (value: unknown): unknown => {
  const { command, types } = overTheWire(encode(value));
  return decodeValue(command, types, classes);
};
const decode = (command: unknown, types: Record<string, unknown>): unknown =>
  decodeValue(overTheWire(command), types as Types, classes);

const errorOf = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('values that JSON cannot hold', () => {
  it('come back exactly, at any depth', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(differences(roundTrip(value), value)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it('are named in types by a JSON Pointer to their place', () => {
    const value = { 'a/b': { 'c~d': [new Date(0)] }, map: new Map([[1n, new Set([NaN])]]) };

    expect(encode(value)).toEqual({
      command: { 'a/b': { 'c~d': ['1970-01-01T00:00:00.000Z'] }, map: [['1', ['NaN']]] },
      types: { '/a~1b/c~0d/0': 'Date', '/map': 'Map', '/map/0/0': 'bigint', '/map/0/1': 'Set', '/map/0/1/0': 'number' },
    });
  });

  it('are read in whatever order types names them', () => {
    const map = decode([['1', ['NaN']]], { '': 'Map', '/0/0': 'bigint', '/0/1': 'Set', '/0/1/0': 'number' });

    expect(map).toEqual(new Map([[1n, new Set([NaN])]]));
  });

  it('may be the top-level value', () => {
    expect(encode(undefined)).toEqual({ command: null, types: { '': 'undefined' } });
    expect(differences(roundTrip(new Date(NaN)), new Date(NaN))).toEqual([]);
  });

  it('are always written as well-formed Unicode', () => {
    const lone = '\ud800';

    expect(JSON.stringify(encode({ lone, list: [lone] }))).not.toContain('\\ud800');
    expect(roundTrip({ lone })).toEqual({ lone });
  });

  it('become copies if they are shared by reference', () => {
    const shared = { at: new Date(0) };

    const { a, b } = roundTrip({ a: shared, b: shared }) as Record<string, unknown>;

    expect(a).toEqual(shared);
    expect(b).toEqual(a);
    expect(b).not.toBe(a);
  });

  it('include dates of a faked clock', () => {
    const real = new Date(5);
    jest.useFakeTimers();
    try {
      expect(encode([real, new Date(7)]).types).toEqual({ '/0': 'Date', '/1': 'Date' });
    } finally {
      jest.useRealTimers();
    }
  });

  it('are not changed by encoding', () => {
    const inner = { when: new Date(0), list: [1n] };
    const value = { inner };

    encode(value);

    expect(value).toEqual({ inner: { when: new Date(0), list: [1n] } });
    expect(value.inner).toBe(inner);
  });
});

describe('values that JSON can hold', () => {
  it('are encoded as they are, without types and without a copy', () => {
    fc.assert(
      fc.property(
        // Except −0, which JSON.stringify does not write, and a forbidden key.
        fc
          .jsonValue()
          .map((value) => JSON.stringify(value))
          .filter((text) => !text.includes('__proto__'))
          .map((text) => JSON.parse(text) as unknown),
        (value) => {
          const { command, ...rest } = encode(value);
          expect(command).toBe(value);
          expect(rest).toEqual({});
        },
      ),
    );
  });

  it('include objects without a prototype and getters, which become plain data', () => {
    const bare = Object.assign(Object.create(null) as object, { a: 1 });
    const counting = Object.defineProperty({}, 'b', { get: () => 2, enumerable: true });

    expect(roundTrip({ bare, counting })).toStrictEqual({ bare: { a: 1 }, counting: { b: 2 } });
  });
});

describe('errors', () => {
  it('keep name, message, stack, cause and custom properties', () => {
    const cause = new RangeError('inner');
    const error = Object.assign(new TypeError('outer', { cause }), { code: 'ECONNREFUSED', at: new Date(0) });

    const back = roundTrip(error) as typeof error;

    expect(back).toBeInstanceOf(TypeError);
    expect(back.stack).toBe(error.stack);
    expect(back.cause).toBeInstanceOf(RangeError);
    expect(Object.entries(back)).toEqual([
      ['code', 'ECONNREFUSED'],
      ['at', new Date(0)],
    ]);
  });

  it('of Onqueue keep their code and their facts', () => {
    const back = roundTrip(new InvalidPayloadError('it is empty'));

    expect(back).toMatchObject({ name: 'InvalidPayloadError', code: 'E_INVALID_PAYLOAD' });
    expect(back).toHaveProperty('facts', new InvalidPayloadError('it is empty').facts);
  });

  it('of a subclass come back as the nearest built-in error with the name of the subclass', () => {
    class PaymentRefused extends RangeError {}

    const back = roundTrip(new PaymentRefused('no')) as Error;

    expect(Object.getPrototypeOf(back)).toBe(RangeError.prototype);
    expect(back.name).toBe('PaymentRefused');
    expect(Object.keys(back)).toEqual([]);
  });

  it('without a stack do not get the stack of the place that reads them', () => {
    const back = decode({ name: 'Refused', message: 'no' }, { '': 'Error' }) as Error;

    expect(back.stack).toBe('Refused: no');
  });

  it('of the platform keep the values of their getters', () => {
    const back = roundTrip(new DOMException('stopped', 'AbortError')) as Error;

    expect(back.name).toBe('AbortError');
    expect(back.message).toBe('stopped');
  });
});

describe('instances of registered classes', () => {
  it('travel by name and come back without running a constructor', () => {
    const value = [new RateLimited('mail', new Date(0))];

    expect(encode(value).types).toEqual({ '/0': 'class:RateLimited', '/0/until': 'Date' });
    expect(differences(roundTrip(value), value)).toEqual([]);
  });

  it('are written by their properties, not by their toJSON()', () => {
    class Odd {
      value = 1;
      toJSON(): string {
        return 'lost';
      }
    }
    known.set('Odd', Odd);

    expect(JSON.stringify(encodeInstance(new Odd(), classes, 'Odd').command)).toBe('{"value":1}');
    expect(roundTrip([new Odd()])).toEqual([new Odd()]);
  });

  it('are written by their own properties, not by enumerable ones on the prototype', () => {
    const Old = function Old(this: { a: number }): void {
      this.a = 1;
    } as unknown as new () => object;
    Object.assign(Old.prototype as object, { greet: () => 'hello' });
    known.set('Old', Old);

    expect(encode([new Old()]).command).toEqual([{ a: 1 }]);
  });

  it('are refused if the class is not registered here', () => {
    expect(errorOf(() => decode({}, { '': 'class:Gone' }))).toMatchObject({
      constructor: UnknownClassError,
      facts: { name: 'Gone' },
    });
  });
});

describe('a value that a queue cannot carry', () => {
  it('is refused without the advice to use class-transformer if that could not make it either', () => {
    expect(() => encode({ map: new WeakMap() })).toThrow(/inject it in handle\(\)\.$/);
  });

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const polluted = JSON.parse('{"__proto__":{"admin":true}}') as object;
  const accessed = [Object.assign([1], { index: 0 }), Object.assign(new Map(), { extra: 1 })];

  it.each<[string, unknown, string]>([
    [
      'an instance of a class',
      { logger: new Logger() },
      'X.logger is a Logger, which a queue cannot carry. Make it static, or inject it in handle(). ' +
        'A value travels as its parts, or with @Type(() => Logger) from class-transformer on the property.',
    ],
    ['one deep inside', { items: [1, 2, 3, { owner: new Logger() }] }, 'X.items[3].owner is a Logger'],
    ['one as a key of a map', { map: new Map([[new Logger(), 1]]) }, 'X.map[0][0] is a Logger'],
    [
      'one on an error',
      { error: Object.assign(new Error('e'), { client: new Logger() }) },
      'X.error.client is a Logger',
    ],
    ['one under an odd name', { 'a b': new Logger() }, 'X["a b"] is a Logger'],
    ['an unnamed class', [new (class {})()], 'X[0] is an instance of a class without a name'],
    ['a subclass of a built-in', { at: new (class Moment extends Date {})() }, 'X.at is a Moment'],
    ['a subclass of Array', new (class List extends Array<number> {})(), 'X is a List'],
    ['a function', { done: () => 1 }, 'X.done is a function'],
    ['a symbol', [Symbol('s')], 'X[0] is a symbol'],
    ['a symbol as a key', { a: { [Symbol('s')]: 1 } }, 'X.a is an object with the property Symbol(s)'],
    ['a boxed number', [Object(1)], 'X[0] is a boxed Number'],
    ['a promise', { result: Promise.resolve(1) }, 'X.result is a Promise, which a queue cannot carry. Await it'],
    ['a query', { result: new Query(Promise.resolve(1)) }, 'X.result is a Query, which a queue cannot carry. Await it'],
    ['a weak map', new WeakMap(), 'X is a WeakMap'],
    ['a data view', new DataView(new ArrayBuffer(1)), 'X is a DataView'],
    ['shared memory', [new SharedArrayBuffer(1)], 'X[0] is a SharedArrayBuffer'],
    ['a cycle', { a: cycle }, 'X.a.self is a way back to an object that holds it'],
    ['a hole', { list: [0, , 2] }, 'X.list is an array with a hole at [1]'], // oxlint-disable-line no-sparse-arrays
    ['a list with a property', accessed[0], 'X is an array with the property `index`'],
    ['a map with a property', accessed[1], 'X is a Map with the property `extra`'],
    ['a key that would change a prototype', { polluted }, 'X.polluted.__proto__ is a property of that name'],
    ['a key that is not well formed', { '\ud800': 1 }, 'X["\\ud800"] is a property of that name'],
    [
      'a constructor of its own',
      Object.assign(new RateLimited('', new Date(0)), { constructor: 1 }),
      'X.constructor is a property of that name',
    ],
  ])('is refused with its path: %s', (_, value, message) => {
    const error = errorOf(() => encode(value));

    expect(error).toBeInstanceOf(UnserializableValueError);
    expect((error as Error).message).toContain(message);
  });

  it('is nested more than 512 levels deep', () => {
    const deep = (levels: number): unknown => Array.from({ length: levels }).reduce((inner) => [inner], 1);

    expect(roundTrip(deep(512))).toEqual(deep(512));
    expect(errorOf(() => encode(deep(513)))).toMatchObject({
      message: expect.stringContaining('more than 512 levels'),
    });
    expect(errorOf(() => encode(deep(100_000)))).toBeInstanceOf(UnserializableValueError);
  });
});

describe('types that do not match the data', () => {
  it.each<[string, unknown, Record<string, unknown>, string]>([
    ['a place that does not exist', { a: 1 }, { '/b': 'Date' }, '/b'],
    ['a place within a string', { a: 'x' }, { '/a/length': 'Date' }, '/a/length'],
    ['an index beyond the end', [1], { '/1': 'Date' }, '/1'],
    ['an index with a leading zero', [1], { '/00': 'Date' }, '/00'],
    ['a property of all arrays', [1], { '/length': 'Date' }, '/length'],
    ['a way into a prototype', {}, { '/constructor/prototype': 'Map' }, '/constructor/prototype'],
    ['the prototype itself', {}, { '/__proto__': 'Map' }, '/__proto__'],
    ['a pointer without a slash', { a: 1 }, { a: 'Date' }, 'a'],
    ['a pointer with a bare ~', { '~': 1 }, { '/~': 'Date' }, '/~'],
    ['a type that does not exist', { a: 1 }, { '/a': 'Function' }, '/a'],
    ['a type that all objects have', { a: 1 }, { '/a': 'toString' }, '/a'],
    ['a type that is not a string', { a: 1 }, { '/a': 1 }, '/a'],
    ['an invalid date', ['tomorrow'], { '/0': 'Date' }, '/0'],
    ['a date as a number', [0], { '/0': 'Date' }, '/0'],
    ['a map of single values', [[1]], { '': 'Map' }, ''],
    ['a set of an object', { a: 1 }, { '': 'Set' }, ''],
    ['a bigint with a point', ['1.5'], { '/0': 'bigint' }, '/0'],
    ['a number that JSON has', ['1'], { '/0': 'number' }, '/0'],
    ['bytes that are not base64', ['!!!!'], { '/0': 'Buffer' }, '/0'],
    ['too few bytes for the last element', ['AAAA'], { '/0': 'Float64Array' }, '/0'],
    ['a value in place of undefined', [1], { '/0': 'undefined' }, '/0'],
    ['a URL without a scheme', ['example.org'], { '/0': 'URL' }, '/0'],
    ['an expression that does not compile', [{ source: '(', flags: '' }], { '/0': 'RegExp' }, '/0'],
    ['flags that do not exist', [{ source: 'a', flags: 'q' }], { '/0': 'RegExp' }, '/0'],
    ['an error with a message of another type', [{ message: 1 }], { '/0': 'Error' }, '/0'],
    ['several errors that are not errors', [{ message: '' }], { '/0': 'AggregateError' }, '/0'],
    ['an instance that is not an object', [[]], { '/0': 'class:RateLimited' }, '/0'],
  ])('are refused with their pointer: %s', (_, command, types, pointer) => {
    const error = errorOf(() => decode(command, types));

    expect(error).toBeInstanceOf(InvalidPayloadError);
    expect((error as InvalidPayloadError).facts).toMatchObject({ pointer });
  });

  it.each([
    [{}, '/toString'],
    [{}, '/constructor'],
    [JSON.parse('{"__proto__":[]}'), '/__proto__'],
    [[null], '/00'],
    [[null], '/-'],
    [[null], '/'],
    [null, '/a'],
  ])('are refused if they point to nothing in %j: %s', (command, pointer) => {
    expect(() => decode(command, { [pointer]: 'undefined' })).toThrow('there is nothing at this place');
  });

  it('never change a prototype', () => {
    const pointer = fc.array(fc.constantFrom('__proto__', 'constructor', 'prototype', 'a', '0'), { maxLength: 4 });
    const type = fc.constantFrom('Map', 'Error', 'class:RateLimited', 'Date', 'undefined');
    const command = JSON.parse('{"a":[{"__proto__":{"polluted":1},"constructor":{"prototype":{}}}]}') as unknown;
    fc.assert(
      fc.property(fc.array(fc.tuple(pointer, type), { maxLength: 4 }), (entries) => {
        const types = Object.fromEntries(
          entries.map(([steps, name]) => [steps.map((step) => `/${step}`).join(''), name]),
        );

        errorOf(() => decode(command, types));

        expect(Object.getPrototypeOf(Object.prototype)).toBeNull();
        expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
        expect(Object.keys(Object.prototype)).toEqual([]);
        expect(Object.getOwnPropertyNames(RateLimited.prototype)).toEqual(['constructor']);
      }),
      { numRuns: 150 },
    );
  });

  it('accept {} as an empty list, as PHP and cjson write it', () => {
    expect(decode({ map: {}, set: {} }, { '/map': 'Map', '/set': 'Set' })).toEqual({ map: new Map(), set: new Set() });
  });
});
