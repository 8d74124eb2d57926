import { type ChainLink, linkText, readChain, withChain } from '../../src/payload/chain';
import { encodePayload } from '../../src/payload/payload-text';
import { classesOf, definitionOf } from './classes';

class Resize {
  constructor(readonly width: unknown) {}
}

const ID = '019c7d7a-2c00-7a6b-9d3e-5f0c1b2a394c';
const ENDING = `"readyAt":null,"id":"${ID}","attempts":0}`;

const payloadOf = (width: unknown, name = 'Resize') => {
  const definition = { ...definitionOf(Resize, { name }), version: undefined };
  return encodePayload({
    definition,
    job: new Resize(width),
    chosen: {},
    id: ID,
    readyAt: null,
    classes: classesOf(new Map()),
  });
};

const readBack = (text: string): ChainLink => readChain({ chained: [JSON.parse(text)] }).links[0]!;

describe('a link that waits in a chained payload', () => {
  it('leaves out the fields that nearly every link has in common', () => {
    const text = linkText({ queue: 'images', payload: payloadOf(80) });

    expect(JSON.parse(text)).toEqual({ queue: 'images', name: 'Resize', command: '{"width":80}', id: ID });
  });

  it('repeats nothing from the link before it', () => {
    const [first, second, third] = [
      payloadOf(80),
      payloadOf(90).replace('4c"', '4d"'),
      payloadOf(100).replace(/019c/, '019d'),
    ];
    const links = [
      { queue: 'images', payload: first },
      { queue: 'images', payload: second },
      { queue: 'mail', payload: third },
    ];
    const carrier = withChain(payloadOf(70), { links });
    const { chained } = JSON.parse(carrier) as { chained: object[] };

    expect(chained.map((link) => Object.keys(link))).toEqual([
      ['queue', 'name', 'command', 'id'],
      ['name', 'command', 'end'],
      ['queue', 'name', 'command', 'id'],
    ]);
    expect(readChain({ chained }).links).toEqual(links);
  });

  it('keeps its data as JSON, so that secrets in it can be found', () => {
    const more = payloadOf({ a: '}' }).replace('"readyAt"', '"maxTries":3,"readyAt"');
    const nested = payloadOf({ password: { of: '}' } });
    const texts = [more, nested].map(
      (payload) => JSON.parse(linkText({ queue: 'images', payload })) as Record<string, string>,
    );

    expect(JSON.parse(texts[0]!['payload']!)).toEqual({ data: { command: { width: { a: '}' } } }, maxTries: 3 });
    expect(JSON.parse(texts[1]!['command']!)).toEqual({ width: { password: { of: '}' } } });
  });

  it.each([
    payloadOf(80),
    payloadOf(80, 'a "name" with \\ and ,"data":{'),
    payloadOf(`,"job":"onqueue","data":{"commandName":`),
    payloadOf(`,"readyAt":null,"id":"x","attempts":0}`),
    payloadOf(80).replace('"id"', '"tags":["a"],"id"'),
    payloadOf(80).replace('"readyAt"', '"maxTries":3,"readyAt"'),
    payloadOf(new Date(0)),
    payloadOf({ deep: [{}, '}'] }),
    payloadOf(80).replace('"onqueue"', '"onqueue+"'),
    payloadOf(80).replace('"commandName":"Resize"', '"commandName":"Other"'),
    payloadOf(80).replace('"commandName":"Resize",', ''),
    payloadOf(80).replace('"readyAt":null', '"readyAt":null,"id":"first"'),
    `{"displayName":"Resize","job":"onqueue","data":{"commandName":"Resize",${ENDING}`,
    `{"displayName":"Resize","job":"onqueue","data":{"commandName":"Resize"},${ENDING}`,
    `{"uuid":"${ID}","displayName":"Mail","job":"Mail@send","data":null,${ENDING}`,
    `{"id":"${ID}","attempts":0}`,
    payloadOf(80).replaceAll('Resize', 'Re\nsize'),
    payloadOf(80).replace(ID, `${ID}\n`),
  ])('is read back as it was made: %s', (payload) => {
    const link = { queue: 'images', delay: 5, payload };

    expect(readBack(linkText(link))).toEqual(link);
  });

  it.each([
    { payload: '{}' },
    { payload: '{"displayName":"Resize"}' },
    { name: 'Resize', command: '{}' },
    { name: 'Resize', command: '{}', id: 'a"b' },
    { name: 'Resize', command: '{}', end: '5f0c1b2a394c' },
    { name: 'Resize', payload: '{}', id: ID },
    { name: 7, command: '{}', id: ID },
    {},
  ])('is refused if its payload is neither whole nor short: %j', (payload) => {
    expect(() => readChain({ chained: [{ queue: 'images', ...payload }] })).toThrow('/chained/0/payload');
  });

  it('keeps its whole id behind a link that is shorter than an id', () => {
    const links = [`{"id":"a","attempts":0}`, payloadOf(80)].map((payload) => ({ queue: 'images', payload }));
    const { chained } = JSON.parse(withChain(payloadOf(70), { links })) as { chained: object[] };

    expect(readChain({ chained }).links).toEqual(links);
  });

  it('is refused if it has no queue and no link before it', () => {
    expect(() => readChain({ chained: [{ payload: payloadOf(80) }] })).toThrow('/chained/0/queue');
  });

  it('is also read if it waits as a whole payload', () => {
    expect(readBack(JSON.stringify({ queue: 'images', payload: payloadOf(80) })).payload).toBe(payloadOf(80));
  });
});
