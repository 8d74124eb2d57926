/** Jobs and callbacks of a batch, and short assertions about them. */
import assert from 'node:assert/strict';
import type { BatchCallback, BatchState, NewBatch } from '../../connections/batch-store';
import type { Entry, Pushed, Reservation, Settlement } from '../../connections/contract';
import { withTies } from '../../payload/ties';
import { completed, failed, idOf, idsOf, probe, type Reserved, type World } from './world';

export const BATCH = 'batch-1';

/** A job of the batch. `weight` is its own link and the links behind it. */
export function member(id: string, weight = 1, delay?: number): Entry {
  const ties = { batch: { id: BATCH, weight } };
  return { payload: withTies(probe(id), ties), ties, delay };
}

export const link = (reservation: Reservation, id: string, weight = 1, queue = reservation.queue): Settlement => ({
  ...completed(reservation),
  next: [{ queue, entry: member(id, weight) }],
});

/** A callback whose id is the event. */
export function callback(on: BatchCallback['on'], queue: string, id: string = on): BatchCallback {
  const payload = probe(id);
  return { on, queue, head: payload.slice(0, payload.lastIndexOf('"id"')), id };
}

/** A callback for every event except `progress`. */
export const callbacksTo = (queue: string): readonly BatchCallback[] =>
  (['then', 'catch', 'finally', 'next'] as const).map((on) => callback(on, queue));

/** @param results what becomes of the jobs; by default the batch takes all of them */
export async function begin(
  world: World,
  entries: readonly Entry[],
  options: Partial<NewBatch> = {},
  results: readonly Pushed[] = entries.map(() => 'queued'),
): Promise<void> {
  const callbacks = callbacksTo(world.neighbour);
  const batch = { id: BATCH, name: 'images', allowsFailures: false, callbacks, ...options };
  assert.deepEqual(await world.pushed(entries, world.queue, batch), results);
}

/** Begins a batch of jobs with these ids and reserves them together. */
export async function hold<const Ids extends readonly string[]>(
  world: World,
  ids: Ids,
  options?: Partial<NewBatch>,
): Promise<Reserved<Ids>> {
  const entries = ids.map((id) => member(id));
  await begin(world, entries, options);
  return world.reserveEach(ids);
}

export async function find(world: World): Promise<BatchState> {
  const batch = await world.batches.find(BATCH, world.queue);
  assert(batch !== undefined, 'the batch is known');
  return batch;
}

type Counted = Partial<Pick<BatchState, 'pending' | 'completed' | 'failed' | 'skipped'>>;

export async function counts(world: World, counted: Counted): Promise<void> {
  const { pending, completed: done, failed: broken, skipped } = await find(world);
  const expected = { pending: 0, completed: 0, failed: 0, skipped: 0, ...counted };
  assert.deepEqual({ pending, completed: done, failed: broken, skipped }, expected);
}

/** Asserts that exactly these callbacks were sent since the last call. */
export async function sent(world: World, ...ids: readonly string[]): Promise<void> {
  const sending = await world.reserveAll({ queues: [world.neighbour] });
  assert.deepEqual(new Set(idsOf(sending)), new Set(ids), 'the callbacks that were sent');
  assert.equal(sending.length, ids.length, 'each was sent once');
  if (sending.length > 0) await world.settles(...sending.map(completed));
}

export const withCause = (reservation: Reservation, message = 'probe'): Settlement => ({
  ...failed(reservation),
  cause: { id: String(idOf(reservation)), name: 'Probe', message },
});
