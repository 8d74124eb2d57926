import * as fc from '../support/properties';
import {
  afterFailedAttempt,
  afterFreeRelease,
  afterHeldCrash,
  afterReclaim,
  afterReserve,
  afterRetry,
  afterTimedOut,
  countersTail,
  fenceOf,
  hasId,
  noCounters,
  readCounters,
  readCountersOfAny,
  readId,
  withCounters,
  withId,
  type Counters,
} from '../../src/payload/counters';
import { InvalidPayloadError } from '../../src/payload/errors';

const written = (text: string, counters: Counters): string => withCounters(Buffer.from(text), counters).toString();
const withAttempts = (attempts: number): Counters => ({ ...noCounters, attempts });

const count = fc.integer({ min: 0, max: 999_999_999 });
const anyCounters: fc.Arbitrary<Counters> = fc.record({
  attempts: count,
  crashes: count,
  exceptions: count,
  timeouts: count,
  releases: count,
});

describe('the counters at the end of a payload', () => {
  it('stand in a fixed order, and all but attempts only if above 0', () => {
    expect(countersTail(withAttempts(0))).toBe(',"attempts":0}');
    expect(countersTail({ attempts: 4, crashes: 1, exceptions: 2, timeouts: 5, releases: 3 })).toBe(
      ',"crashes":1,"exceptions":2,"timeouts":5,"releases":3,"attempts":4}',
    );
  });

  it('are read from the tail alone', () => {
    const payload = Buffer.from('{"crashes":9,"a":1,"crashes":1,"releases":3,"attempts":4}');

    expect(readCounters(payload)).toEqual({
      counters: { attempts: 4, crashes: 1, exceptions: 0, timeouts: 0, releases: 3 },
      bodyEnd: '{"crashes":9,"a":1'.length,
    });
  });

  it('are found in a payload with leading white space, so that they do not pile up with each attempt', () => {
    const counted = ' \n{"a":1,"attempts":1}';
    expect(readCounters(Buffer.from(counted))).toMatchObject({ counters: { attempts: 1 }, bodyEnd: 8 });
    expect(written(counted, withAttempts(2))).toBe(' \n{"a":1,"attempts":2}');
  });

  it.each([
    ['another order', '{"attempts":1,"crashes":1}'],
    ['white space', '{"a":1, "attempts":1}'],
    ['a text that is not an object', ' [{"a":1,"attempts":1}'],
    ['white space after it', '{"a":1,"attempts":1}\n'],
    ['a fraction', '{"a":1,"attempts":1.5}'],
    ['a string', '{"a":1,"attempts":"1"}'],
    ['a key that only ends in attempts', '{"a":1,"x,\\"attempts":1}'],
    ['more digits than a double holds', '{"a":1,"attempts":1234567890123456}'],
    ['a field after them', '{"id":"x","attempts":1,"delay":null}'],
  ])('are not a canonical tail with %s', (_, text) => {
    expect(readCounters(Buffer.from(text))).toBeUndefined();
  });

  it('fit the window even if all have thirteen digits, which is the maximum', () => {
    const most = {
      attempts: 9_999_999_999_999,
      crashes: 9_999_999_999_999,
      exceptions: 9_999_999_999_999,
      timeouts: 9_999_999_999_999,
      releases: 9_999_999_999_999,
    };

    expect(readCounters(Buffer.from(written('{"a":1}', most)))?.counters).toEqual(most);
    expect(readCounters(Buffer.from('{"a":1,"attempts":10000000000000}'))).toBeUndefined();
  });

  it('are parsed from the whole payload if there is no canonical tail', () => {
    const text = '{"crashes":2,"attempts": 3,"exceptions":"1","releases":-1}';

    expect(readCountersOfAny(text)).toEqual({ attempts: 3, crashes: 2, exceptions: 0, timeouts: 0, releases: 0 });
    expect(readCountersOfAny(Buffer.from('{"attempts": 1.9}'))?.attempts).toBe(1);
    expect(readCountersOfAny('{"attempts": 1e13}')?.attempts).toBe(0);
  });

  it.each(['[]', '"{}"', 'null', '3', '', 'nonsense', '{"a":1'])(
    'are not found in %j, which is not an object',
    (text) => {
      expect(readCountersOfAny(text)).toBeUndefined();
    },
  );
});

describe('giving a payload new counters', () => {
  it('replaces the canonical tail', () => {
    expect(written('{"a":[],"crashes":1,"attempts":1}', withAttempts(2))).toBe('{"a":[],"attempts":2}');
  });

  it('replaces the final brace if there is no tail, and keeps every byte before it', () => {
    expect(written('{"attempts": 1, "big":12345678901234567890 }', withAttempts(2))).toBe(
      '{"attempts": 1, "big":12345678901234567890 ,"attempts":2}',
    );
  });

  it('writes no comma into an empty object', () => {
    expect(written('{}', withAttempts(1))).toBe('{"attempts":1}');
    expect(written('{ }', withAttempts(1))).toBe('{ "attempts":1}');
    expect(written('{"attempts":1}', withAttempts(2))).toBe('{"attempts":2}');
  });

  it('drops trailing white space, which would hide the counters from then on', () => {
    expect(written('{"a":1} \r\n\t', withAttempts(1))).toBe('{"a":1,"attempts":1}');
  });

  it('works on bytes that are not UTF-8', () => {
    const payload = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0x80, 0x22]), Buffer.from('}')]);

    const changed = withCounters(payload, withAttempts(7));

    expect(readCountersOfAny(payload)).toEqual(noCounters);
    expect(changed.subarray(0, 9)).toEqual(payload.subarray(0, 9));
    expect(changed.subarray(9).toString()).toBe(',"attempts":7}');
  });

  it('refuses a payload that does not end like an object', () => {
    expect(() => written('[1]', noCounters)).toThrow(InvalidPayloadError);
    expect(() => written('  ', noCounters)).toThrow(InvalidPayloadError);
  });

  it('changes nothing else in any JSON object', () => {
    const member = fc.oneof(fc.string(), fc.constantFrom('attempts', 'crashes', 'id', '{', '}'));
    const space = fc.constantFrom('', ' ', '\n', '\t \r\n');
    const object = fc.dictionary(member, fc.jsonValue(), { noNullPrototype: true });
    fc.assert(
      fc.property(object, space, fc.constantFrom(0, 2), anyCounters, (fields, end, indent, counters) => {
        const { attempts: _a, crashes: _c, exceptions: _e, timeouts: _t, releases: _r, ...rest } = fields;
        const text = JSON.stringify(rest, null, indent) + end;

        const changed = written(text, counters);

        const { attempts, crashes = 0, exceptions = 0, timeouts = 0, releases = 0, ...others } = JSON.parse(changed);
        expect({ attempts, crashes, exceptions, timeouts, releases }).toEqual(counters);
        expect(others).toEqual(JSON.parse(text));
        expect(readCounters(Buffer.from(changed))?.counters).toEqual(counters);
      }),
      { numRuns: 150 },
    );
  });

  it('lets the tail win over any counters in the body', () => {
    const body = fc.dictionary(fc.constantFrom('attempts', 'crashes', 'exceptions', 'releases', 'a'), fc.jsonValue());
    fc.assert(
      fc.property(body, anyCounters, anyCounters, (fields, first, second) => {
        const once = withCounters(Buffer.from(JSON.stringify(fields)), first);
        const twice = withCounters(once, second);

        expect(readCounters(once)?.counters).toEqual(first);
        expect(readCounters(twice)?.counters).toEqual(second);
        expect(twice.length - countersTail(second).length).toBe(once.length - countersTail(first).length);
      }),
      { numRuns: 150 },
    );
  });
});

describe('the id before the counters', () => {
  it('is put directly before them', () => {
    const payload = Buffer.from('{"a":1,"releases":2,"attempts":1}');

    expect(withId(payload, 'new').toString()).toBe('{"a":1,"id":"new","releases":2,"attempts":1}');
    expect(withId(Buffer.from('{"a":1}\n'), 'new').toString()).toBe('{"a":1,"id":"new"}');
    expect(withId(Buffer.from('{}'), 'new').toString()).toBe('{"id":"new"}');
    expect(withId(Buffer.from('{"attempts":1}'), 'new').toString()).toBe('{"id":"new","attempts":1}');
  });

  it('wins over an earlier id', () => {
    const payload = withId(Buffer.from('{"id":"old","attempts":1}'), 'new');

    expect(JSON.parse(payload.toString())).toEqual({ id: 'new', attempts: 1 });
  });

  it.each([
    '{"a":1,"id":"x","attempts":1}',
    '{"id":"x","a":1,"attempts":1}',
    '{"id":"x\\n"}',
    '{"id":"x","attempts":1,"delay":null}',
  ])('is found in %s', (text) => {
    expect(hasId(Buffer.from(text))).toBe(true);
  });

  it.each([
    '{"a":1,"attempts":1}',
    '{"id":"","attempts":1}',
    '{"id":7,"attempts":1}',
    '{"data":{"id":"x"},"attempts":1}',
    '[]',
  ])('is not found in %s', (text) => {
    expect(hasId(Buffer.from(text))).toBe(false);
    expect(readId(Buffer.from(text))).toBeUndefined();
  });

  it.each([
    ['{"a":1,"id":"größe","attempts":1}', 'größe'],
    ['{"a":1,"id":"gr\\u00f6\\u00dfe 😀","attempts":1}', 'größe 😀'],
    ['{"id":"größe","data":{"id":"inner"}}', 'größe'],
    ['{"id":"first","id":"last","attempts":1}', 'last'],
  ])('is decoded: %s', (text, id) => {
    expect(readId(Buffer.from(text))).toBe(id);
  });
});

describe('the transitions of the counters', () => {
  const before: Counters = { attempts: 2, crashes: 1, exceptions: 1, timeouts: 1, releases: 3 };

  it('count what happened, and give back an attempt that does not count', () => {
    expect(afterReserve(before)).toEqual({ ...before, attempts: 3 });
    expect(afterFreeRelease(before)).toEqual({ ...before, attempts: 1, releases: 4 });
    expect(afterFailedAttempt(before)).toEqual({ ...before, exceptions: 2 });
    expect(afterTimedOut(before)).toEqual({ ...before, exceptions: 2, timeouts: 2 });
    expect(afterReclaim(before)).toEqual({ ...before, attempts: 1, crashes: 2 });
    expect(afterHeldCrash(before)).toEqual({ ...before, attempts: 1, crashes: 0, releases: 5 });
    expect(afterRetry(before)).toEqual({ attempts: 0, crashes: 0, exceptions: 0, timeouts: 0, releases: 6 });
  });

  it('raise the fence by exactly one with every reservation', () => {
    const step = fc.constantFrom(
      afterFreeRelease,
      afterFailedAttempt,
      afterReclaim,
      afterRetry,
      afterTimedOut,
      (counters: Counters) => (counters.crashes > 0 ? afterHeldCrash(counters) : counters),
      (counters: Counters) => counters,
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let counters = noCounters;
        const fences: number[] = [];
        for (const end of steps) {
          counters = afterReserve(counters);
          fences.push(fenceOf(counters));
          counters = end(counters);
        }
        fences.push(fenceOf(afterReserve(counters)));
        expect(fences).toEqual(Array.from({ length: steps.length + 1 }, (_, index) => index + 1));
      }),
      { numRuns: 200 },
    );
  });
});
