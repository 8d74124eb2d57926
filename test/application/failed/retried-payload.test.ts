import { retriedPayload } from '../../../src/application/failed/failed-jobs';

const NOW = Date.parse('2026-11-21T00:00:00Z');
const past = NOW / 1000 - 60;
const future = NOW / 1000 + 60;

function retried(text: string): string {
  return retriedPayload(Buffer.from(text), NOW).toString();
}

describe('the payload of a retried failed job', () => {
  it('gets all its tries again, and a number of releases that keeps its text and fence unique', () => {
    const text = '{"job":"Mail@send","data":[],"crashes":1,"exceptions":2,"releases":3,"attempts":4}';

    expect(retried(text)).toBe('{"job":"Mail@send","data":[],"fenceAtRetry":8,"releases":8,"attempts":0}');
  });

  it('keeps a foreign text to the byte, and appends new counters that override its own', () => {
    const text = '{ "attempts": 2, "job":"Mail@send", "n": 12345678901234567890, "empty": {} }';

    expect(retried(text)).toBe(
      '{ "attempts": 2, "job":"Mail@send", "n": 12345678901234567890, "empty": {} ,"fenceAtRetry":2,"releases":2,"attempts":0}',
    );
  });

  it('has one mark, before its id, however often it is retried', () => {
    const again = retried('{"job":"Mail@send","data":[],"id":"x","attempts":1}').replace(
      '"attempts":0',
      '"attempts":3',
    );

    expect(again).toContain('"data":[],"fenceAtRetry":1,"id":"x","releases":1,');
    expect(retried(again)).toBe('{"job":"Mail@send","data":[],"fenceAtRetry":4,"id":"x","releases":4,"attempts":0}');
  });

  it('keeps a text that only looks like an id, and non-ASCII characters', () => {
    const text = String.raw`{"job":"Mail@send","data":{"a":"ü"},"note":",\"id\":\"x","attempts":1}`;

    expect(retried(text)).toBe(text.replace('"attempts":1', '"fenceAtRetry":1,"releases":1,"attempts":0'));
  });

  it('loses a last moment that has passed', () => {
    const text = `{"job":"Mail@send","retryUntil":${past},"attempts":1}`;

    expect(retried(text)).toBe(
      `{"job":"Mail@send","retryUntil":${past},"retryUntil":null,"fenceAtRetry":1,"releases":1,"attempts":0}`,
    );
    expect(JSON.parse(retried(text))).toMatchObject({ retryUntil: null });
  });

  it('loses the last moment of older Laravel versions as well', () => {
    expect(JSON.parse(retried(`{"job":"Mail@send","timeoutAt":${past},"attempts":1}`))).toMatchObject({
      timeoutAt: null,
    });
  });

  it('keeps a last moment in the future', () => {
    expect(JSON.parse(retried(`{"job":"Mail@send","retryUntil":${future},"attempts":1}`))).toMatchObject({
      retryUntil: future,
      attempts: 0,
    });
  });

  it.each(['not JSON', '[1,2]', '"text"', '{"no":"job","attempts":1}', ''])(
    'is left alone if it is not a payload: %s',
    (text) => {
      expect(retried(text)).toBe(text);
    },
  );

  it('is left alone if it is not text', () => {
    const bytes = Buffer.concat([Buffer.from('{"job":"'), Buffer.from([0xff, 0xfe]), Buffer.from('","attempts":1}')]);

    expect(retriedPayload(bytes, NOW)).toEqual(bytes);
  });
});
