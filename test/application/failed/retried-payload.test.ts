import { retriedPayload } from '../../../src/application/failed/retried-payload';

const NOW = Date.parse('2026-11-21T00:00:00Z');
const past = NOW / 1000 - 60;
const future = NOW / 1000 + 60;

function retried(text: string): string {
  return retriedPayload(Buffer.from(text), NOW).toString();
}

describe('the payload of a failed job that goes back', () => {
  it('has all its tries again, and releases that keep its text and fence from returning', () => {
    const text = '{"job":"Mail@send","data":[],"crashes":1,"exceptions":2,"releases":3,"attempts":4}';

    expect(retried(text)).toBe('{"job":"Mail@send","data":[],"fenceAtRetry":8,"releases":8,"attempts":0}');
  });

  it('keeps what a foreign text says to the byte, and hides its counters behind new ones', () => {
    const text = '{ "attempts": 2, "job":"Mail@send", "n": 12345678901234567890, "empty": {} }';

    expect(retried(text)).toBe(
      '{ "attempts": 2, "job":"Mail@send", "n": 12345678901234567890, "empty": {} ,"fenceAtRetry":2,"releases":2,"attempts":0}',
    );
  });

  it('bears one mark, before its id, however often it goes back', () => {
    const again = retried('{"job":"Mail@send","data":[],"id":"x","attempts":1}').replace(
      '"attempts":0',
      '"attempts":3',
    );

    expect(again).toContain('"data":[],"fenceAtRetry":1,"id":"x","releases":1,');
    expect(retried(again)).toBe('{"job":"Mail@send","data":[],"fenceAtRetry":4,"id":"x","releases":4,"attempts":0}');
  });

  it('keeps a text that only looks like an id, and what is not ASCII', () => {
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

  it('loses the last moment of an old Laravel as well', () => {
    expect(JSON.parse(retried(`{"job":"Mail@send","timeoutAt":${past},"attempts":1}`))).toMatchObject({
      timeoutAt: null,
    });
  });

  it('keeps a last moment that is still to come', () => {
    expect(JSON.parse(retried(`{"job":"Mail@send","retryUntil":${future},"attempts":1}`))).toMatchObject({
      retryUntil: future,
      attempts: 0,
    });
  });

  it.each(['not JSON', '[1,2]', '"text"', '{"no":"job","attempts":1}', ''])(
    'is left as it is when it is no payload: %s',
    (text) => {
      expect(retried(text)).toBe(text);
    },
  );

  it('is left as it is when it is not even text', () => {
    const bytes = Buffer.concat([Buffer.from('{"job":"'), Buffer.from([0xff, 0xfe]), Buffer.from('","attempts":1}')]);

    expect(retriedPayload(bytes, NOW)).toEqual(bytes);
  });
});
