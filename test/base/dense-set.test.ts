import * as fc from '../support/properties';
import { DenseSet, type DenseSetMember } from '../../src/base/collections';

class Guest implements DenseSetMember {
  position: number | undefined;
}

const arbitraryChange = fc.record({
  change: fc.constantFrom('add', 'add', 'delete', 'clear'),
  index: fc.integer({ min: 0, max: 7 }),
});

it('a dense set behaves like a Set', () => {
  fc.assert(
    fc.property(fc.array(arbitraryChange), (changes) => {
      const guests = Array.from({ length: 8 }, () => new Guest());
      const set = new DenseSet<Guest>();
      const expected = new Set<Guest>();
      for (const { change, index } of changes) {
        for (const target of [set, expected]) {
          if (change === 'add') target.add(guests[index]!);
          else if (change === 'delete') target.delete(guests[index]!);
          else target.clear();
        }
        expect(new Set(set)).toEqual(expected);
        expect(set.size).toBe(expected.size);
        for (const guest of guests) expect(set.has(guest)).toBe(expected.has(guest));
      }
    }),
  );
});

it('members that leave during an iteration do not disturb it', () => {
  const set = new DenseSet<Guest>();
  const three = [new Guest(), new Guest(), new Guest()];
  for (const one of three) set.add(one);
  const met: Guest[] = [];

  for (const one of set) {
    met.push(one);
    set.clear();
  }

  expect(met).toEqual(three);
});
