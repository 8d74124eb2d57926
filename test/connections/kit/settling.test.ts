import type { Reservation, Settlement, SettleResult } from '../../../src/connections/contract';
import { NOTHING, type Settled, Settling } from '../../../src/connections/kit/settling';
import { noCounters } from '../../../src/payload/counters';

const away = new Error('away');

const reservation = (): Reservation => ({
  queue: 'q',
  payload: Buffer.from('{}'),
  counters: noCounters,
  token: undefined,
});
const completed = (of: Reservation): Settlement => ({ outcome: 'completed', reservation: of });
const many = (count: number): readonly Settlement[] => Array.from({ length: count }, () => completed(reservation()));

let settling: Settling;
let sent: number[];

beforeEach(() => {
  settling = new Settling(() => 0);
  sent = [];
});

const told = (page: readonly Settlement[], result: SettleResult): Settled => ({
  ...NOTHING,
  results: page.map(() => result),
});
const settle = async (settlements: readonly Settlement[], result: SettleResult = 'settled'): Promise<unknown> =>
  (await settling.inPages(settlements, async (page) => (sent.push(page.length), told(page, result)))).results;
/** Fails at its second page. */
const failing = (settlements: readonly Settlement[]): Promise<Settled> =>
  settling.inPages(settlements, async (page, isLast) => {
    if (isLast) throw away;
    return told(page, 'settled');
  });

it('what was written before a page that failed is told when all are sent again, and asked for no more', async () => {
  const settlements = many(150);
  await expect(failing(settlements)).rejects.toBe(away);

  expect(new Set((await settle(settlements, 'lost')) as string[])).toEqual(new Set(['settled', 'lost']));
  expect(sent).toEqual([50]);
});

it('what was told is forgotten: the store decides of an outcome that comes once more', async () => {
  const settlements = many(101);
  await expect(failing(settlements)).rejects.toBe(away);
  await settle(settlements);

  expect(await settle([settlements[0]!], 'lost')).toEqual(['lost']);
});

it('what was written of a page that was refused in part is told for these alone', async () => {
  const settlements = many(3);
  settling.remember(settlements, ['settled', undefined, 'lost']);

  expect(await settle(settlements)).toEqual(['settled', 'settled', 'lost']);
  expect(sent).toEqual([1]);
});

it('of several outcomes of one reservation the first counts', async () => {
  const one = completed(reservation());
  settling.remember([one, one], ['settled', 'lost']);

  expect(await settle([one])).toEqual(['settled']);
});
