import { systemClock } from '../../src/base/clock';
import { uuidv7 } from '../../src/payload/uuid';

describe('the ids of jobs', () => {
  afterEach(() => jest.restoreAllMocks());

  it('are UUIDs of version 7, which begin with the time', () => {
    const before = systemClock.now();

    const id = uuidv7();

    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const milliseconds = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
    expect(milliseconds).toBeGreaterThanOrEqual(before);
    expect(milliseconds).toBeLessThanOrEqual(systemClock.now() + 1);
  });

  it('strictly increase, even within a millisecond', () => {
    const ids = Array.from({ length: 50_000 }, uuidv7);

    expect(ids.findIndex((id, index) => index > 0 && id <= ids[index - 1]!)).toBe(-1);
  });

  it('increase even if the clock goes back', () => {
    const last = uuidv7();
    const anHourAgo = systemClock.now() - 3_600_000;
    jest.spyOn(systemClock, 'now').mockReturnValue(anHourAgo);

    const [first, second] = [uuidv7(), uuidv7()];

    expect(first > last).toBe(true);
    expect(second > first).toBe(true);
  });

  it('end in random bits, so that two processes do not collide', () => {
    const ends = Array.from({ length: 10_000 }, () => uuidv7().slice(-10));

    expect(new Set(ends).size).toBe(10_000);
  });
});
