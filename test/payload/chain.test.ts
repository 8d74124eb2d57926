import { type ChainLink, linkText, readChain } from '../../src/payload/chain';
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

describe('a link that waits in the payload of another', () => {
  it('leaves out what nearly every link has alike', () => {
    const waiting = JSON.parse(linkText({ queue: 'images', payload: payloadOf(80) })) as ChainLink;

    expect(waiting.queue).toBe('images');
    expect(JSON.parse(waiting.payload)).toEqual({
      displayName: 'Resize',
      data: { command: { width: 80 } },
      id: ID,
    });
  });

  it.each([
    payloadOf(80),
    payloadOf(80, 'a "name" with \\ and ,"data":{'),
    payloadOf(`,"job":"onqueue","data":{"commandName":`),
    payloadOf(`,"readyAt":null,"id":"x","attempts":0}`),
    payloadOf(80).replace('"id"', '"tags":["a"],"id"'),
    payloadOf(80).replace('"onqueue"', '"onqueue+"'),
    payloadOf(80).replace('"commandName":"Resize"', '"commandName":"Other"'),
    payloadOf(80).replace('"commandName":"Resize",', ''),
    payloadOf(80).replace('"readyAt":null', '"readyAt":null,"id":"first"'),
    `{"displayName":"Resize","job":"onqueue","data":{"commandName":"Resize",${ENDING}`,
    `{"displayName":"Resize","job":"onqueue","data":{"commandName":"Resize"},${ENDING}`,
    `{"uuid":"${ID}","displayName":"Mail","job":"Mail@send","data":null,${ENDING}`,
    `{"id":"${ID}","attempts":0}`,
  ])('is sent as it was made: %s', (payload) => {
    const link = { queue: 'images', delay: 5, payload };

    expect(readBack(linkText(link))).toEqual(link);
  });

  it.each(['{}', '{"displayName":"Resize"}', `{"displayName":"Resize","data":{"id":"${ID}"`])(
    'is refused where its payload is neither whole nor short: %s',
    (payload) => {
      expect(() => readChain({ chained: [{ queue: 'images', payload }] })).toThrow('/chained/0/payload');
    },
  );

  it('is read where it waits as a whole payload', () => {
    expect(readBack(JSON.stringify({ queue: 'images', payload: payloadOf(80) })).payload).toBe(payloadOf(80));
  });
});
