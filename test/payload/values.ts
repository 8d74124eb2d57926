/** Arbitrary values of every kind that a queue carries, nested at any depth. */
import { isForbiddenKey } from '../../src/payload/values';
import * as fc from '../support/properties';

const few = { maxLength: 3 };

const TYPED_ARRAYS = [
  fc.int8Array(few),
  fc.uint8Array(few),
  fc.uint8ClampedArray(few),
  fc.int16Array(few),
  fc.uint16Array(few),
  fc.int32Array(few),
  fc.uint32Array(few),
  fc.float32Array(few),
  fc.float64Array(few),
  fc.bigInt64Array(few),
  fc.bigUint64Array(few),
];

const utf16Text = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 })
  .map((units) => String.fromCharCode(...units));

const bytes = fc.uint8Array({ maxLength: 12 });

/** With a short stack: having Jest map a real one back to TypeScript takes a millisecond. */
const short = <E extends Error>(error: E): E =>
  Object.defineProperty(error, 'stack', { value: `${error.name}: here`, writable: true, configurable: true });

const error = fc
  .tuple(fc.constantFrom(Error, TypeError, RangeError, SyntaxError), fc.string(), fc.option(fc.string()))
  .map(([Class, message, code]) => short(Object.assign(new Class(message), code === null ? {} : { code })));

const jsonLeaf: fc.Arbitrary<unknown> = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));

const leaf: fc.Arbitrary<unknown> = fc.oneof(
  jsonLeaf,
  fc.constantFrom(undefined, -0, NaN, Infinity, -Infinity),
  fc.double(),
  fc.bigInt(),
  utf16Text,
  fc.date(),
  fc.date({ noInvalidDate: false }),
  ...TYPED_ARRAYS,
  bytes.map((content) => Buffer.from(content)),
  bytes.map((content) => new Uint8Array(content).buffer),
  fc.constantFrom('https://a.example/b?c=d#e', 'file:///tmp/x', 'data:,é').map((text) => new URL(text)),
  fc
    .constantFrom(/a\/b[\n]/giu, /(?<year>\d+)/y, new RegExp('\\u{1f600}', 'u'))
    .map((expression) => new RegExp(expression)),
  error,
);

const key = fc.string({ maxLength: 6 }).filter((text) => !isForbiddenKey(text));

/** In objects, arrays, maps (with any keys), sets and errors with a cause. */
export const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => new Set(items)),
    tie('value').map((cause) => short(new Error('outer', { cause }))),
    fc.array(tie('value'), { maxLength: 3 }).map((errors) => short(new AggregateError(errors, 'several'))),
  ),
}));

/** Ordinary field names with any values. */
export const anyFields: fc.Arbitrary<Record<string, unknown>> = fc.dictionary(key, anyValue, {
  maxKeys: 4,
  noNullPrototype: true,
});
