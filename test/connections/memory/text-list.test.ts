import { TextList } from '../../../src/connections/memory/texts';

describe('a text list', () => {
  it('returns texts in the order in which they were appended, even after it was compacted', () => {
    const list = new TextList();
    const texts = Array.from({ length: 5_000 }, (_, index) => `text-${index}`);
    for (const text of texts) list.append(text);
    const taken = texts.map(() => list.take());
    expect(taken).toEqual(texts);
    expect([list.size, list.first(), list.take()]).toEqual([0, undefined, undefined]);
  });

  it('prepends texts in their order, even after some were taken', () => {
    const list = new TextList();
    for (const text of ['a', 'b', 'c']) list.append(text);
    list.take();
    list.prepend(['x', 'y']);
    expect(list.firstOf(10)).toEqual(['x', 'y', 'b', 'c']);
    expect([list.size, list.first()]).toEqual([4, 'x']);
  });
});
