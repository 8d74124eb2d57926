/** Jobs and callbacks of a batch, and short assertions about them. */
import assert from 'node:assert/strict';
import type { BatchCallback, BatchState, BatchStore, NewBatch } from '../../connections/batch-store';
import type { Entry, Reservation, Settlement } from '../../connections/contract';
import { afterRetry, withCounters } from '../../payload/counters';
import { withTies } from '../../payload/ties';
import { completed, failed, idOf, idsOf, probe, type World } from './world';

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

export async function begin(world: World, entries: readonly Entry[], options: Partial<NewBatch> = {}): Promise<void> {
  const batch = {
    id: BATCH,
    name: 'images',
    allowsFailures: false,
    callbacks: callbacksTo(world.neighbour),
    ...options,
  };
  assert.deepEqual(
    (await world.connection.push(world.queue, entries, batch)) ?? [],
    [],
    'the batch takes all of its jobs',
  );
}

export function storeOf({ connection }: Pick<World, 'connection'>): BatchStore {
  assert(connection.batches !== undefined, 'a driver with the capability has a batch store');
  return connection.batches;
}

export async function find(world: World): Promise<BatchState> {
  const batch = await storeOf(world).find(BATCH, world.queue);
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

const retried = (payload: Buffer, attempts: number): Buffer =>
  withCounters(payload, afterRetry({ attempts, crashes: 0, exceptions: 0, timeouts: 0, releases: 0 }));

export async function retry(world: World, id: string): Promise<void> {
  const entry = await world.failedEntry(id);
  assert.equal(await world.failedStore.retry(entry, retried(entry.payload, entry.attempts)), true);
}
