import { glimpseOf } from '../../src/payload/counters';

const glimpse = (text: string): unknown => glimpseOf(Buffer.from(text));

it.each([
  ['{"displayName":"Ping","job":"onqueue","data":{},"id":"7b1f","attempts":0}', 'Ping', '7b1f'],
  [
    String.raw`{"uuid":"1","displayName":"App\\Jobs\\Ping","job":"Illuminate","id":"ä","attempts":0}`,
    'App\\Jobs\\Ping',
    'ä',
  ],
  ['{"job":"Ping","data":{"text":"no JSON,"id":"7b1f","crashes":2,"attempts":1}', 'Ping', '7b1f'],
  ['{"data":{},"job":"Ping","id":"7b1f"}', undefined, undefined],
  ['', undefined, undefined],
])('the name and id of %s are read from its ends without parsing', (text, name, id) => {
  const parse = jest.spyOn(JSON, 'parse');
  const found = glimpse(text);
  const parsed = parse.mock.calls.length;
  parse.mockRestore();

  expect([found, parsed]).toEqual([{ id, name }, 0]);
});
