/** Arbitrary values of all the kinds that a queue carries, nested anywhere. */
import * as fc from 'fast-check';

const TYPED_ARRAYS = [
  fc.int8Array(),
  fc.uint8Array(),
  fc.uint8ClampedArray(),
  fc.int16Array(),
  fc.uint16Array(),
  fc.int32Array(),
  fc.uint32Array(),
  fc.float32Array(),
  fc.float64Array(),
  fc.bigInt64Array(),
  fc.bigUint64Array(),
];

const utf16Text = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 })
  .map((units) => String.fromCharCode(...units));

const bytes = fc.uint8Array({ maxLength: 12 });

const error = fc
  .tuple(fc.constantFrom(Error, TypeError, RangeError, SyntaxError), fc.string(), fc.option(fc.string()))
  .map(([Class, message, code]) => Object.assign(new Class(message), code === null ? {} : { code }));

export const jsonLeaf: fc.Arbitrary<unknown> = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));

export const leaf: fc.Arbitrary<unknown> = fc.oneof(
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
  fc.webUrl({ withQueryParameters: true, withFragments: true }).map((text) => new URL(text)),
  fc
    .constantFrom(/a\/b[\n]/giu, /(?<year>\d+)/y, new RegExp('\\u{1f600}', 'u'))
    .map((expression) => new RegExp(expression)),
  error,
);

const key = fc.string({ maxLength: 6 }).filter((text) => text !== '__proto__' && text !== 'constructor');

/** Containers of `leaf` values: objects, arrays, maps (with any keys), sets and errors with a cause. */
export function nested(leaf: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
      fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
      fc.array(tie('value'), { maxLength: 3 }).map((items) => new Set(items)),
      tie('value').map((cause) => new Error('outer', { cause })),
      fc.array(tie('value'), { maxLength: 3 }).map((errors) => new AggregateError(errors, 'several')),
    ),
  }));
  return value;
}

export const anyValue = nested(leaf);

/** Ordinary names of fields with any values. */
export const anyFields: fc.Arbitrary<Record<string, unknown>> = fc.dictionary(key, anyValue, {
  maxKeys: 5,
  noNullPrototype: true,
});
