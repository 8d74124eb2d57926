import { withRetryMark, withCounters, noCounters } from '../../src/payload/counters';
import { withChain } from '../../src/payload/chain';
import { withRetryUntil } from '../../src/payload/payload-text';
import { debounceKey, readTies, uniqueKey, withTies } from '../../src/payload/ties';
import { retriedPayload } from '../../src/application/failed/failed-jobs';

const PLAIN =
  '{"displayName":"Probe","job":"onqueue","data":{"commandName":"Probe","command":{}},"id":"a","attempts":0}';
const KEY = uniqueKey('Probe', '42');
const unique = { key: KEY, until: 'end' } as const;
const tied = withTies(PLAIN, { unique });
const read = (text: string | Buffer): unknown => readTies(Buffer.from(text));

describe('the ties of a payload', () => {
  it('stand right before its id, and its job field tells workers that it has them', () => {
    expect(tied).toBe(PLAIN.replace('"onqueue"', '"onqueue+"').replace('"id"', `"ties":"ue${KEY}","id"`));
    expect(read(tied)).toEqual({ id: 'a', unique });
  });

  it.each([
    [{ key: KEY, until: 'start' }],
    [{ key: KEY, until: 'end', for: 0.25 }],
    [{ key: KEY, until: 'start', for: 1e11 }],
  ] as const)('are read as they were written: %j', (tie) => {
    expect(read(withTies(PLAIN, { unique: tie }))).toEqual({ id: 'a', unique: tie });
  });

  it('include that of a debounced job', () => {
    const key = debounceKey('Probe', '42', 'default');
    const [endless, bounded] = [{ key }, { key, longest: 0.25 }];
    expect(withTies(PLAIN, { debounce: bounded })).toContain(`,"ties":"d${key}:250","id":`);
    for (const debounce of [endless, bounded]) {
      expect(read(withTies(PLAIN, { debounce }))).toEqual({ id: 'a', debounce });
    }
    const others = [
      debounceKey('Probe', '43', 'default'),
      debounceKey('Probe2', '42', 'default'),
      debounceKey('Probe', '42', 'other'),
    ];
    expect(new Set([key, KEY, ...others]).size).toBe(5);
  });

  it('have a hash of 22 characters that differs for each job and key', () => {
    expect(KEY).toMatch(/^[\w-]{22}$/);
    expect(new Set([KEY, uniqueKey('Probe', '43'), uniqueKey('Prob', 'e42'), uniqueKey('Probe2', '42')]).size).toBe(4);
  });

  it('are found after a chain, a last moment, counters and a retry were added', () => {
    const chained = withChain(tied, { links: [{ queue: 'q', payload: PLAIN }] });
    const bounded = withRetryUntil(chained, 1000);
    const counted = withCounters(Buffer.from(bounded), { ...noCounters, attempts: 3, crashes: 1, releases: 2 });
    const marked = withRetryMark(counted, 6);
    for (const text of [chained, bounded, counted, marked, withRetryMark(marked, 9)]) {
      expect(read(text)).toEqual({ id: 'a', unique });
    }
  });

  it.each([1, 2, 3, 9, 35, 36, 37, 60])('are found before an id of %d characters', (length) => {
    const id = 'x'.repeat(length);
    for (const attempts of [0, 10]) {
      const plain = PLAIN.replace('"a"', `"${id}"`).replace('"attempts":0', `"attempts":${attempts}`);
      const marked = withRetryMark(Buffer.from(withTies(plain, { unique })), 6);
      const batch = { id: 'b', weight: 1 };
      expect(read(withTies(plain, { unique }))).toEqual({ id, unique });
      expect(read(withTies(plain, { batch }))).toEqual({ id, batch });
      expect(read(marked)).toEqual({ id, unique });
      expect(read(plain)).toBeUndefined();
    }
  });

  it('are found in a job that is retried after its last moment', () => {
    const past = withRetryUntil(tied, Date.parse('2026-01-01'));
    const retried = retriedPayload(Buffer.from(past), Date.parse('2026-06-01'));
    expect(JSON.parse(retried.toString())).toMatchObject({ retryUntil: null });
    expect(read(retried)).toEqual({ id: 'a', unique });
  });

  it.each([
    ['a nested field', PLAIN.replace('"command":{}', `"command":{"ties":"ue${KEY}"}`)],
    ['a field before other fields', PLAIN.replace('"data"', `"ties":"ue${KEY}","data"`)],
    ['a string that looks like ties', PLAIN.replace('"id"', String.raw`"note":",\"ties\":\"ue${KEY}","id"`)],
    ['a key of another length', tied.replace(KEY, KEY.slice(1))],
    ['a payload without an id at its end', tied.replace(',"id":"a"', '')],
    ['nothing at all', PLAIN],
  ])('are not found in %s', (_, text) => {
    expect(read(text)).toBeUndefined();
  });
});
