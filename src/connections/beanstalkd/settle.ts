/** Ends reservations, each on the connection that holds it, because only the holder can. */
import { withCounters } from '../../payload/counters';
import type { Settlement, SettleResult } from '../contract';
import { Silence, within } from '../kit/caller';
import { Held } from './held';
import { LinkEnded } from './link';
import { beyond, buriedPriority, freshPriority, nearestPriority, releasedPriority, userPriority } from './marks';
import { fieldsOf, putCommand, wholeSeconds } from './protocol';

type Released = Extract<Settlement, { readonly outcome: 'released' }>;

/**
 * All are sent at once. If one fails, the next call reports those that are settled.
 *
 * @throws QueueUnavailableError; then the call may be repeated, and nothing is carried out twice
 */
export async function settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
  const claimed = settlements.map(({ reservation: { token } }) =>
    token instanceof Held && token.claim() ? token : undefined,
  );
  const settling = claimed.map(async (held, index) =>
    held === undefined ? 'lost' : settleInTime(held, settlements[index]!),
  );
  await Promise.allSettled(settling);
  try {
    const results = await Promise.all(settling);
    for (const held of claimed) held?.told();
    return results;
  } finally {
    for (const held of claimed) if (held !== undefined) held.isClaimed = false;
  }
}

async function settleInTime(held: Held, settlement: Settlement): Promise<SettleResult> {
  const { caller } = held.reserver;
  held.settling ??= settleHeld(held, settlement);
  try {
    const result = await within(caller.settings.clock, caller.deadline, held.settling);
    held.reserver.drop(held);
    return result;
  } catch (error) {
    if (error instanceof Silence) throw held.reserver.failed(error, 'the outcome of a job was not written', true);
    held.settling = undefined;
    throw error;
  }
}

/**
 * Waits as long as the connection lives. If it ends before the answer comes, we ask the server on another one what happened
 * to the job.
 *
 * @throws QueueUnavailableError if no other connection can be made either
 */
async function settleHeld(held: Held, settlement: Settlement): Promise<SettleResult> {
  if (held.doubt !== undefined) return foundOut(held);
  try {
    if (settlement.outcome === 'released') return await release(held, settlement);
    if (settlement.outcome === 'failed') {
      held.doubt = buriedPriority(held.job.facts);
      return await answered(held, `bury ${held.job.id} ${held.doubt}`, 'BURIED');
    }
    if (!(await isOurs(held))) return 'lost';
    held.doubt = 'gone';
    return await answered(held, `delete ${held.job.id}`, 'DELETED');
  } catch (error) {
    if (!(error instanceof LinkEnded)) throw error;
    return error.sent && held.doubt !== undefined ? foundOut(held) : 'lost';
  }
}

/** Whether it can be settled by one command that is sent at once. */
export function goesAtOnce(held: Held, settlement: Settlement): boolean {
  const { clock } = held.reserver.caller.settings;
  if (settlement.outcome === 'released')
    return releasedPriority(held.job.facts, beyond(settlement.counters, held.written)) !== undefined;
  return settlement.outcome === 'failed' || held.isFresh(clock.monotonic());
}

async function release(held: Held, settlement: Released): Promise<SettleResult> {
  const { facts } = held.job;
  const counters = beyond(settlement.counters, held.written);
  const priority = releasedPriority(facts, counters);
  if (priority === undefined && held.written !== undefined) {
    const moved = await putAgain(held, settlement);
    if (moved !== undefined) return moved;
  }
  held.doubt = priority ?? nearestPriority(facts, counters);
  return answered(held, `release ${held.job.id} ${held.doubt} ${wholeSeconds(settlement.delay)}`, 'RELEASED');
}

/**
 * The marks have no room for these counters: puts the job in once more with all of them in its body, and then removes the
 * old one. A crash between the two leaves the job twice rather than losing it. Undefined if the new job was not taken.
 */
async function putAgain(held: Held, settlement: Released): Promise<SettleResult | undefined> {
  if (!(await isOurs(held))) return 'lost';
  const { link } = held.reserver;
  const put = putCommand({
    body: withCounters(settlement.reservation.payload, settlement.counters),
    priority: freshPriority(userPriority(held.job.facts)),
    delay: settlement.delay,
    lease: held.job.ttr / 1000,
  });
  held.doubt = 'gone';
  const inserted = (await link.ask([...link.use(held.job.tube), put], Infinity)).at(-1)!;
  if (inserted.word !== 'INSERTED') return undefined;
  const result = await answered(held, `delete ${held.job.id}`, 'DELETED');
  if (result === 'lost') await link.ask([`delete ${inserted.args[0]}`], Infinity);
  return result;
}

// Once the lease has ended the job waits, and anybody could delete it. Only its holder may.
async function isOurs(held: Held): Promise<boolean> {
  const { clock } = held.reserver.caller.settings;
  return held.isFresh(clock.monotonic()) || held.reserver.touch(held);
}

async function answered(held: Held, command: string, word: string): Promise<SettleResult> {
  const { link, caller } = held.reserver;
  const [reply] = await link.ask([command], caller.deadline);
  return reply!.word === word ? 'settled' : 'lost';
}

async function foundOut(held: Held): Promise<SettleResult> {
  const [reply] = await held.reserver.caller.call(() => [`stats-job ${held.job.id}`], {
    consequence: 'the outcome of a job was not written',
    repeatable: true,
  });
  if (held.doubt === 'gone') return reply!.word === 'NOT_FOUND' ? 'settled' : 'lost';
  return fieldsOf(reply!.body).get('pri') === String(held.doubt) ? 'settled' : 'lost';
}
