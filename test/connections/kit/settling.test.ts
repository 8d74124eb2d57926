import type { Reservation, Settled, Settlement, SettleResult } from '../../../src/connections/contract';
import { NOTHING, Settling } from '../../../src/connections/kit/connection';
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
/** Settles in pages, of which the second fails. */
const failing = (settlements: readonly Settlement[]): Promise<Settled> =>
  settling.inPages(settlements, async (page, isLast) => {
    if (isLast) throw away;
    return told(page, 'settled');
  });

it('the results of pages before a failed one are remembered and not sent again', async () => {
  const settlements = many(150);
  await expect(failing(settlements)).rejects.toBe(away);

  expect(new Set((await settle(settlements, 'lost')) as string[])).toEqual(new Set(['settled', 'lost']));
  expect(sent).toEqual([50]);
});

it('a remembered result is returned once: after that the store decides again', async () => {
  const settlements = many(101);
  await expect(failing(settlements)).rejects.toBe(away);
  await settle(settlements);

  expect(await settle([settlements[0]!], 'lost')).toEqual(['lost']);
});

it('the results of a partly refused page are remembered for the outcomes that were written', async () => {
  const settlements = many(3);
  settling.remember(settlements, ['settled', undefined, 'lost']);

  expect(await settle(settlements)).toEqual(['settled', 'settled', 'lost']);
  expect(sent).toEqual([1]);
});

it('the first of several outcomes of one reservation counts', async () => {
  const one = completed(reservation());
  settling.remember([one, one], ['settled', 'lost']);

  expect(await settle([one])).toEqual(['settled']);
});
