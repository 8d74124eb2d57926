import type { Class } from '../../src/base/class';
import { encodeValue } from '../../src/payload/encoder';
import { decodeEnvelope, decodeJob, decodeMiddleware } from '../../src/payload/envelope';
import { InvalidPayloadError, UnknownClassError } from '../../src/payload/errors';
import { classesOf, definitionOf } from './classes';
import { Vault } from '../../src/payload/vault';

class SendEmail {
  handle(): void {}
  middleware(): unknown[] {
    return [];
  }
}

class RateLimited {
  handle(): void {}
}

const known = new Map<string, Class>([
  ['SendEmail', SendEmail],
  ['RateLimited', RateLimited],
]);
const classes = classesOf(known);
const definition = definitionOf(SendEmail);

/** What a worker does with a payload before it runs the job. */
function read(text: string): object {
  const envelope = decodeEnvelope(Buffer.from(text));
  const job = decodeJob(envelope, definition, classes, new Vault());
  decodeMiddleware(envelope, classes, new Vault());
  return job;
}

const payload = (fields: object): string => JSON.stringify({ job: 'onqueue', id: 'i', ...fields });
const ours = (command: unknown, types: object = {}, more: object = {}): string =>
  payload({ data: { commandName: 'SendEmail', command, types }, ...more });
/** Data with one value of the given type. */
const typed = (form: unknown, type: string): string => ours({ x: form }, { '/x': type });
const MANY = 100_000;

function refusalOf(text: string): Error {
  try {
    read(text);
  } catch (error) {
    return error as Error;
  }
  throw new Error('It was read.');
}

describe('a hostile payload', () => {
  it.each<[string, string, string]>([
    ['nested lists', `{"job":"SendEmail","data":${'['.repeat(MANY)}${']'.repeat(MANY)}}`, '512 levels'],
    ['nested objects', `${'{"job":'.repeat(MANY)}1${'}'.repeat(MANY)}`, '512 levels'],
    ['lists that never end', '['.repeat(MANY), 'it is not JSON'],
    ['a key __proto__', `{"job":"SendEmail","data":{"a":[{"__proto__":{"isAdmin":true}}]}}`, '__proto__'],
    [
      'a key __proto__ in an entry of a map',
      '{"job":"onqueue","data":{"commandName":"SendEmail","command":{"x":[[{"__proto__":1},1]]},"types":{"/x":"Map"}}}',
      '__proto__',
    ],
    ['a key __proto__ beside the data', '{"job":"SendEmail","trace":{"__proto__":1}}', '__proto__'],
    ['a pointer to a prototype', ours({ x: {} }, { '/x/__proto__': 'Date' }), 'there is nothing at this place'],
    [
      'a pointer to an inherited member',
      ours({ x: {} }, { '/x/constructor': 'Date' }),
      'there is nothing at this place',
    ],
    ['a pointer to the length of a list', ours({ x: [1] }, { '/x/length': 'Date' }), 'there is nothing at this place'],
    [
      'a pointer beyond the end of a list',
      ours({ x: [1] }, { '/x/4294967294': 'Date' }),
      'there is nothing at this place',
    ],
    ['a pointer into a string', ours({ x: 'abc' }, { '/x/0': 'Date' }), 'there is nothing at this place'],
    ['a pointer into null', ours({ x: null }, { '/x/0': 'Date' }), 'there is nothing at this place'],
    ['a pointer without a slash', ours({ x: 1 }, { x: 'Date' }), 'a JSON Pointer starts with /'],
    [
      'very many pointers to nothing',
      ours({}, Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`/${i}`, 'Date']))),
      'there is nothing at this place',
    ],
    ['a global of the environment as a type', typed({}, 'Function'), "there is no type 'Function'"],
    ['a type that is not a string', ours({ x: 1 }, { '/x': { length: 9 } }), 'the name of a type is a string'],
    ['an own constructor', ours({ constructor: {} }), 'it has a key constructor'],
    ['an own prototype', ours({ x: [{ prototype: {} }] }), 'it has a key prototype'],
    [
      'an own constructor of a nested instance',
      typed({ constructor: 1 }, 'class:RateLimited'),
      'it has a key constructor',
    ],
    ['an object that claims to be a long list', typed({ length: 4_294_967_295, 0: 1 }, 'Set'), 'form of a Set'],
    [
      'an object that claims to hold many errors',
      typed({ errors: { length: 1e9 } }, 'AggregateError'),
      'form of a AggregateError',
    ],
    ['invalid base64', typed('!!!!', 'Buffer'), 'form of a Buffer'],
    ['half a number', typed('AAA=', 'Float64Array'), 'form of a Float64Array'],
    ['an invalid date', typed('('.repeat(MANY), 'Date'), 'form of a Date'],
    ['an invalid URL', typed('http://', 'URL'), 'form of a URL'],
    ['a number with a point', typed('1.5', 'bigint'), 'form of a bigint'],
    ['a number that takes minutes to read', typed('9'.repeat(MANY), 'bigint'), 'form of a bigint'],
    [
      'nested groups',
      typed({ source: `${'('.repeat(MANY)}${')'.repeat(MANY)}`, flags: '' }, 'RegExp'),
      'a RegExp of more than 1000 characters is not read',
    ],
    ['flags that do not exist', typed({ source: 'a', flags: 'g'.repeat(MANY) }, 'RegExp'), 'form of a RegExp'],
    ['data in place of a method', ours({ middleware: null }), '`middleware` would hide the method of SendEmail'],
    [
      'data in place of a method of a string job',
      '{"job":"SendEmail","data":{"handle":1}}',
      '`handle` would hide the method of SendEmail',
    ],
    [
      'middleware that is not middleware',
      payload({ job: 'SendEmail', middleware: { command: [{ handle: 1 }] } }),
      '/middleware/command/0: it is not middleware',
    ],
    [
      'middleware of a built-in type',
      payload({ job: 'SendEmail', middleware: { command: [[]], types: { '/0': 'Map' } } }),
      'it is not middleware',
    ],
    [
      'middleware that hides its method',
      payload({ job: 'SendEmail', middleware: { command: [{ handle: 1 }], types: { '/0': 'class:RateLimited' } } }),
      'it is not middleware',
    ],
    [
      'a name of a hundred thousand characters',
      payload({ job: 'A'.repeat(MANY) }),
      '/job: expected 1 to 255 characters',
    ],
    [
      'a name with an escape sequence',
      ours({}, {}, { data: { commandName: 'Send\u001b[2JEmail', command: {} } }),
      '/data/commandName: expected 1 to 255',
    ],
    [
      'a name with a line break',
      payload({ job: 'SendEmail\nworker: all jobs done' }),
      '/job: expected 1 to 255 characters',
    ],
    ['an id with a line break', ours({}, {}, { id: 'a\nb' }), '/id: expected 1 to 255 characters'],
    [
      'an id of a hundred thousand characters',
      ours({}, {}, { id: 'a'.repeat(MANY) }),
      '/id: expected 1 to 255 characters',
    ],
  ])('is refused with its reason: %s', (_, text, reason) => {
    const error = refusalOf(text);

    expect(error).toBeInstanceOf(InvalidPayloadError);
    expect(error.message).toContain(reason);
  });

  it.each(['Function', 'constructor', '__proto__', 'toString', 'Object', 'process', 'Gone'])(
    'cannot make a worker build a class that is not registered: %s',
    (name) => {
      expect(refusalOf(typed({}, `class:${name}`))).toBeInstanceOf(UnknownClassError);
    },
  );

  it('cannot change what other code sees', () => {
    read(ours({ x: [['__proto__', { isAdmin: true }]] }, { '/x': 'Map' }));

    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
    expect(Object.getPrototypeOf(SendEmail.prototype)).toBe(Object.prototype);
  });

  it('is not quoted at length, nor with control characters for a terminal', () => {
    const long = 'x'.repeat(MANY);
    const errors = [
      refusalOf(ours({ x: 1 }, { [`/${long}`]: 'Date' })),
      refusalOf(ours({ x: {} }, { '/x': `class:${long}` })),
      refusalOf(ours({ x: 1 }, { '/x': long })),
      refusalOf(ours({ x: 1 }, { '/\u001b[2J\n\u202e': 'Date' })),
      refusalOf(ours({ x: {} }, { '/x': 'class:\u001b]0;owned\u0007\u009b' })),
    ];

    for (const { message } of errors) {
      expect(message.length).toBeLessThan(500);
      expect(message).not.toMatch(/[\p{Cc}\u202e]/u);
    }
  });

  it('cannot ask for durations that no store can count', () => {
    const { chosen } = decodeEnvelope(
      Buffer.from(ours({}, {}, { timeout: 1e300, retryUntil: '1e308', backoff: `5,${2 ** 63}`, maxTries: 2 ** 63 })),
    );

    expect(chosen).toMatchObject({ timeout: 1e11, retryUntil: 1e14, backoff: { delays: [5, 1e11] }, tries: 2 ** 63 });
  });
});

describe('data that only look hostile', () => {
  it('are given to the job unchanged', () => {
    const command = { toString: 'x', length: 7, 0: 'zero', nested: { hasOwnProperty: 'c' }, text: '\\u005f __proto__' };

    expect({ ...read(ours(command)) }).toEqual(command);
  });

  it('include integers of up to ten thousand digits, and longer ones are refused at dispatch', () => {
    const longest = BigInt('9'.repeat(10_000));
    const { command, types } = encodeValue({ longest }, classes, 'SendEmail');

    expect(read(ours(command, types))).toEqual(Object.assign(new SendEmail(), { longest }));
    expect(() => encodeValue({ longest: longest * 10n }, classes, 'SendEmail')).toThrow(
      'SendEmail.longest is a bigint of more than 10000 digits',
    );
  });
});
