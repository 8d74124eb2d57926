import * as fc from '../support/properties';
import { drawOrder, namesLikeWeights, parseQueues } from '../../src/worker/queues';

describe('the queues of a worker', () => {
  it('can be given as a text with commas or as a list', () => {
    const names = [
      { name: 'high', weight: 1 },
      { name: 'low', weight: 1 },
    ];

    expect(parseQueues('high, low', false)).toEqual(names);
    expect(parseQueues(['high', 'low'], false)).toEqual(names);
  });

  it('have weights only under fair, so that names can end in a number', () => {
    expect(parseQueues('tenant:7', false)).toEqual([{ name: 'tenant:7', weight: 1 }]);
    expect(parseQueues('high:3,default', true)).toEqual([
      { name: 'high', weight: 3 },
      { name: 'default', weight: 1 },
    ]);
  });

  it.each([
    ['high:3,default:1', ['high:3', 'default:1']],
    ['high:3,default', ['high:3']],
    ['high,default', []],
    ['tenant:7', []],
    ['tenant:7,tenant:8', []],
    ['tenant:7,tenant', []],
  ])('are recognised if they look as if weights were meant: %s', (queue, names) => {
    expect(namesLikeWeights(parseQueues(queue, false))).toEqual(names);
  });

  it.each(['', 'a,,b', 'a b', 'a{b}'])('are refused with an invalid name: %p', (queue) => {
    expect(() => parseQueues(queue, false)).toThrow(expect.objectContaining({ code: 'E_INVALID_QUEUE_NAME' }));
  });

  it('are refused if one is named twice, if there are none, or if a weight is 0', () => {
    expect(() => parseQueues('a,a', false)).toThrow(expect.objectContaining({ code: 'E_INVALID_WORKER_OPTION' }));
    expect(() => parseQueues([], false)).toThrow(expect.objectContaining({ code: 'E_INVALID_WORKER_OPTION' }));
    expect(() => parseQueues('a:0', true)).toThrow(expect.objectContaining({ code: 'E_INVALID_WORKER_OPTION' }));
  });
});

describe('a drawn order', () => {
  const weights = fc.uniqueArray(fc.record({ name: fc.string(), weight: fc.integer({ min: 1, max: 50 }) }), {
    selector: ({ name }) => name,
  });

  it('contains every queue exactly once, whatever random numbers are drawn', () => {
    fc.assert(
      fc.property(weights, fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })), (queues, dice) => {
        const rolls = [...dice];
        const order = drawOrder(queues, () => rolls.shift() ?? 0.999999);

        expect(order).toHaveLength(queues.length);
        expect(new Set(order)).toEqual(new Set(queues.map(({ name }) => name)));
      }),
    );
  });

  it('puts a queue first in proportion to its weight', () => {
    const queues = [
      { name: 'high', weight: 3 },
      { name: 'low', weight: 1 },
    ];
    const firsts = [0, 0.2, 0.4, 0.74, 0.76, 0.99].map((roll) => drawOrder(queues, () => roll)[0]);

    expect(firsts).toEqual(['high', 'high', 'high', 'high', 'low', 'low']);
  });
});
