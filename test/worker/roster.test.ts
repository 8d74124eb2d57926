import * as fc from '../support/properties';
import { type Member, Roster } from '../../src/worker/roster';

class Guest implements Member {
  position: number | undefined;
}

const arbitraryChange = fc.record({
  change: fc.constantFrom('add', 'add', 'delete', 'clear'),
  index: fc.integer({ min: 0, max: 7 }),
});

it('a roster holds what a set would', () => {
  fc.assert(
    fc.property(fc.array(arbitraryChange), (changes) => {
      const guests = Array.from({ length: 8 }, () => new Guest());
      const roster = new Roster<Guest>();
      const expected = new Set<Guest>();
      for (const { change, index } of changes) {
        for (const target of [roster, expected]) {
          if (change === 'add') target.add(guests[index]!);
          else if (change === 'delete') target.delete(guests[index]!);
          else target.clear();
        }
        expect(new Set(roster)).toEqual(expected);
        expect(roster.size).toBe(expected.size);
        for (const guest of guests) expect(roster.has(guest)).toBe(expected.has(guest));
      }
    }),
  );
});

it('what leaves a roster while it is gone through does not disturb that', () => {
  const roster = new Roster<Guest>();
  const three = [new Guest(), new Guest(), new Guest()];
  for (const one of three) roster.add(one);
  const met: Guest[] = [];

  for (const one of roster) {
    met.push(one);
    roster.clear();
  }

  expect(met).toEqual(three);
});
