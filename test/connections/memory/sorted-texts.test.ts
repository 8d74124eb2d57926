import * as fc from '../../support/properties';
import { SortedTexts } from '../../../src/connections/memory/texts';

type Member = readonly [text: string, score: number];
type Step = readonly [step: string, text: string, score: number];

const texts = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'é', '{}');
const steps = fc.array(fc.tuple(fc.constantFrom('set', 'delete'), texts, fc.integer({ min: 0, max: 4 })));

/** The contents of a sorted set after the steps, computed the slow way. */
function expected(all: readonly Step[]): readonly Member[] {
  const members = new Map<string, { score: number; rank: number }>();
  for (const [rank, [step, text, score]] of all.entries()) {
    members.delete(text);
    if (step === 'set') members.set(text, { score, rank });
  }
  return [...members]
    .toSorted(([, a], [, b]) => a.score - b.score || a.rank - b.rank)
    .map(([text, { score }]) => [text, score]);
}

function after(all: readonly Step[]): SortedTexts {
  const sorted = new SortedTexts();
  for (const [rank, [step, text, score]] of all.entries()) {
    if (step === 'set') sorted.set(text, score, rank);
    else sorted.delete(text);
  }
  return sorted;
}

describe('sorted texts', () => {
  it('are sorted by score and then by rank, each once, after any changes', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const sorted = after(all);
        const members = expected(all);
        expect(sorted.firstOf(Infinity).map(({ text, score }) => [text, score])).toEqual(members);
        expect(sorted.size).toBe(members.length);
        expect(sorted.first()?.text).toBe(members[0]?.[0]);
      }),
    );
  });

  it('with equal scores and ranks are sorted by their bytes', () => {
    const sorted = new SortedTexts();
    for (const text of ['b', 'aa', 'a', 'Z']) sorted.set(text, 1, 1);
    expect(sorted.firstOf(4).map(({ text }) => text)).toEqual(['Z', 'a', 'aa', 'b']);
  });

  it('tell on deletion whether a text was there', () => {
    const sorted = new SortedTexts();
    sorted.set('a', 1, 1);
    expect([sorted.has('a'), sorted.delete('a'), sorted.has('a'), sorted.delete('a')]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
