import { entriesOf, fieldsOf, ReplyReader } from '../../../src/connections/beanstalkd/link';

const stream = Buffer.from(
  'INSERTED 7\r\nRESERVED 12 9\r\na\r\nb\r\n\r\n\u0000\r\nNOT_FOUND\r\nOK 0\r\n\r\nTIMED_OUT\r\n',
);
const read = (...chunks: readonly Buffer[]) => {
  const reader = new ReplyReader();
  return chunks.flatMap((chunk) => reader.read(chunk));
};

it('a body is as long as its line says, whatever it contains', () => {
  expect(read(stream)).toEqual([
    { word: 'INSERTED', args: ['7'], body: undefined },
    { word: 'RESERVED', args: ['12', '9'], body: Buffer.from('a\r\nb\r\n\r\n\u0000') },
    { word: 'NOT_FOUND', args: [], body: undefined },
    { word: 'OK', args: ['0'], body: Buffer.alloc(0) },
    { word: 'TIMED_OUT', args: [], body: undefined },
  ]);
});

it('replies are parsed correctly wherever the network cuts them', () => {
  const whole = read(stream);

  for (let cut = 1; cut < stream.length; cut += 1) {
    expect(read(stream.subarray(0, cut), stream.subarray(cut))).toEqual(whole);
  }
  expect(read(...Array.from(stream, (byte) => Buffer.from([byte])))).toEqual(whole);
});

it('a long body that arrives in many pieces is joined once', () => {
  const body = Buffer.alloc(1_000_000, 'x');
  const whole = Buffer.concat([Buffer.from(`RESERVED 1 ${body.length}\r\n`), body, Buffer.from('\r\n')]);
  const pieces = Array.from({ length: 100 }, (_, index) => whole.subarray(index * 10_001, (index + 1) * 10_001));

  expect(read(...pieces)[0]?.body?.equals(body)).toBe(true);
});

it.each([
  ['a line without an end', Buffer.alloc(2000, 'x')],
  ['a body of unknown length', Buffer.from('OK fine\r\n')],
  ['a body of less than nothing', Buffer.from('OK -6\r\n')],
])('%s is refused as a reply of beanstalkd', (_what, bytes) => {
  expect(() => read(bytes)).toThrow('it does not answer as a beanstalkd does');
});

it('lists and fields are read with and without quotes', () => {
  expect(entriesOf(Buffer.from('---\n- default\n- "a:b"\n'))).toEqual(['default', 'a:b']);
  expect(fieldsOf(Buffer.from('---\nid: 7\nversion: "1.12"\nos: #1 SMP: x\n'))).toEqual(
    new Map([
      ['id', '7'],
      ['version', '1.12'],
      ['os', '#1 SMP: x'],
    ]),
  );
});
