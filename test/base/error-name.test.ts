import { runInNewContext } from 'node:vm';
import { errorRecord, errorMessage, errorName, exceptionText, toError } from '../../src/base/exception-text';

class NetworkDown extends Error {}

class HttpError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HttpError';
  }
}

class NotFound extends HttpError {}

/** A class as a bundler leaves it. */
const minified = class Q extends Error {
  override readonly name: string = 'PaymentRefused';
};

const nameless = Object.defineProperty(class extends Error {}, 'name', { value: 7 });

const changed = (changes: PropertyDescriptorMap): Error => Object.defineProperties(new NetworkDown('x'), changes);

it.each<[string, string, () => Error]>([
  ['a class that sets no name', 'NetworkDown', () => new NetworkDown('x')],
  ['a class whose parent sets its own name', 'NotFound', () => new NotFound('x')],
  ['a name given to an instance of Error', 'AbortError', () => Object.assign(new Error('x'), { name: 'AbortError' })],
  ['a class of the platform with many names', 'TimeoutError', () => new DOMException('x', 'TimeoutError')],
  ['a class that a minifier renamed', 'PaymentRefused', () => new minified('x')],
  ['a minified class without a name', 'Error', () => new (class $ extends Error {})('x')],
  ['a class without a name', 'Error', () => new (class extends Error {})('x')],
  ['a native class of another realm', 'TypeError', () => runInNewContext("new TypeError('x')") as Error],
  ['a class of another realm', 'Gone', () => runInNewContext("new (class Gone extends Error {})('x')") as Error],
  ['an error without a prototype', 'Error', () => Object.setPrototypeOf(new NetworkDown('x'), null) as Error],
  ['an own property constructor', 'NetworkDown', () => changed({ constructor: { value: 'data' } })],
  ['a class whose name is no text', 'Error', () => new nameless('x')],
])('%s: the error is called %s', (_, name, make) => {
  expect(errorName(make())).toBe(name);
  expect(errorRecord(make()).type).toBe(name);
  expect(exceptionText(make()).split('\n', 1)).toEqual([`${name}: x`]);
});

it('an error without a message is called by its class alone', () => {
  expect(exceptionText(new NetworkDown())).toMatch(/^NetworkDown\W/);
});

it('keeps the first line of a stack that the program wrote', () => {
  const error = Object.assign(new NetworkDown('x'), { stack: 'Errors all around, of which one says x' });

  expect(exceptionText(error)).toBe('Errors all around, of which one says x');
});

it('a cause is called by its class too, even if it comes from another realm', () => {
  const cause = runInNewContext("new (class Refused extends Error {})('no')") as Error;

  expect(exceptionText(new NetworkDown('x', { cause }))).toContain('Caused by: Refused: no');
  expect(errorRecord(new NetworkDown('x', { cause })).cause).toMatchObject({ type: 'Refused', message: 'no' });
});

it.each<[string, unknown, string]>([
  [
    'an object with a message and a code',
    { code: '23505', message: 'duplicate key', hint: 'a secret' },
    '23505: duplicate key',
  ],
  ['an object with a message', { message: 'no such bucket' }, 'no such bucket'],
  ['an object that says nothing', { password: 'hunter2' }, '[object Object]'],
  ['a message that is no text', { message: { password: 'hunter2' } }, '[object Object]'],
])('%s is no error, but what it says of itself is kept: %p', (_, thrown, words) => {
  expect(errorMessage(thrown)).toBe(`a value that is not an error was thrown: ${words}`);
  expect(exceptionText(toError(thrown))).not.toMatch(/hunter2|a secret/);
});
