/** Batches: the step that ends a job also counts it and sends the callbacks that are now due, each once. */
import assert from 'node:assert/strict';
import { type BatchCallback, type BatchState, callbackPayload, type NewBatch } from '../../connections/batch-store';
import type { Entry, FollowUp, Pushed, Reservation, Settlement } from '../../connections/contract';
import { uniqueKey, withTies } from '../../payload/ties';
import { type CaseDefinition, cases } from './harness';
import {
  cancelled,
  completed,
  failed,
  givenBack,
  idOf,
  idsOf,
  isToRun,
  probe,
  rejectsWithCode,
  type Reserved,
  type World,
} from './world';

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
async function hold<const Ids extends readonly string[]>(
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

const withCause = (reservation: Reservation, message = 'probe'): Settlement => ({
  ...failed(reservation),
  cause: { id: String(idOf(reservation)), name: 'Probe', message },
});

export const batchCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'batches'], {
    async 'a batch reports how many of its jobs are left and finishes when none are'(world) {
      const [a, b] = await hold(world, ['a', 'b']);
      await counts(world, { pending: 2 });
      await world.settles(completed(a));
      await counts(world, { pending: 1, completed: 1 });
      assert.equal((await find(world)).finishedAt, undefined);
      await sent(world);
      await world.settles(completed(b));
      await counts(world, { completed: 2 });
      const { id, name, allowsFailures, createdAt, finishedAt, cancelledAt } = await find(world);
      assert.deepEqual(
        { id, name, allowsFailures, cancelledAt },
        { id: BATCH, name: 'images', allowsFailures: false, cancelledAt: undefined },
      );
      assert(finishedAt !== undefined && finishedAt >= createdAt, 'the batch has a time at which it finished');
      await sent(world, 'then', 'finally', 'next');
    },
    async 'a batch reports its callbacks and which events have occurred'(world) {
      const callbacks = [...callbacksTo(world.neighbour), callback('progress', world.neighbour)];
      const [a] = await hold(world, ['a'], { callbacks, every: 5 });
      const told = async () => {
        const { callbacks, sent: events, every } = (await world.batches.callbacks(BATCH, world.queue))!;
        const wanted = callbacks.map(({ on, queue, head, id }) => ({ on, queue, head, id }));
        return { callbacks: wanted, sent: events.toSorted(), every };
      };
      assert.deepEqual(await told(), { callbacks, sent: [], every: 5 });
      await world.settles(completed(a));
      assert.deepEqual(await told(), { callbacks, sent: ['finally', 'next', 'then'], every: 5 });
      assert.equal(await world.batches.callbacks('unknown', world.queue), undefined);
    },
    async 'batch jobs settled in one call are counted individually'(world) {
      const [a, b, c, d] = await hold(world, ['a', 'b', 'c', 'd'], { allowsFailures: true });
      await world.settles(completed(a), withCause(b), completed(c), cancelled(d));
      await counts(world, { completed: 2, failed: 1, skipped: 1 });
      await sent(world, 'catch', 'finally', 'next');
    },
    async 'a batch without jobs finishes at once'(world) {
      await begin(world, []);
      await counts(world, {});
      assert.notEqual((await find(world)).finishedAt, undefined);
      await sent(world, 'then', 'finally', 'next');
    },
    async 'callbacks are pushed to their own queues with the payload they were given'(world) {
      const callbacks = [callback('then', world.neighbour), callback('finally', world.queue)];
      await begin(world, [member('a')], { callbacks });
      await world.settles(completed(await world.reserveOne()));
      await world.handsOut('finally');
      const then = await world.reserveOne({ queues: [world.neighbour] });
      const { head, id } = callbacks[0]!;
      assert.equal(then.payload.toString().replace(/"attempts":1\}$/, '"attempts":0}'), callbackPayload({ head, id }));
    },
    async 'a lost outcome does not count towards the batch'(world) {
      await begin(world, [member('a')]);
      const frozen = await world.reserveOne({ lease: 30 });
      await world.advance(31);
      const current = await world.reserveOne();
      await world.loses(completed(frozen));
      await counts(world, { pending: 1 });
      await world.settles(completed(current));
      await world.loses(completed(current));
      await counts(world, { completed: 1 });
      await sent(world, 'then', 'finally', 'next');
    },
    async 'a job that returns to its queue still counts as pending'(world) {
      await begin(world, [member('a')]);
      await world.settles(givenBack(await world.reserveOne()));
      await counts(world, { pending: 1 });
      await world.reserveOne({ lease: 30 });
      await world.advance(31);
      await world.settles(completed(await world.reserveOne()));
      await counts(world, { completed: 1 });
    },
    async 'the next link joins the batch before the previous one leaves'(world) {
      await begin(world, [member('a', 3)]);
      await counts(world, { pending: 3 });
      await world.settles(link(await world.reserveOne(), 'b', 2));
      await counts(world, { pending: 2, completed: 1 });
      await sent(world);
      await world.settles(link(await world.reserveOne(), 'c'));
      await world.settles(completed(await world.reserveOne()));
      await counts(world, { completed: 3 });
      await sent(world, 'then', 'finally', 'next');
    },
    async 'a job can add other jobs to its batch with its outcome'(world) {
      await begin(world, [member('a')]);
      const next = ['b', 'c'].map((id): FollowUp => ({ queue: world.queue, entry: member(id) }));
      await world.settles({ ...completed(await world.reserveOne()), next });
      await counts(world, { pending: 2, completed: 1 });
    },
    async 'when a link fails, the links behind it count as skipped'(world) {
      await begin(world, [member('a', 3)], { allowsFailures: true });
      await world.settles(withCause(await world.reserveOne()));
      await counts(world, { failed: 1, skipped: 2 });
      await sent(world, 'catch', 'finally', 'next');
    },
    async 'the first failure cancels the batch and is reported once, with its cause'(world) {
      const [a, b, c] = await hold(world, ['a', 'b', 'c']);
      await world.settles(withCause(a, 'out of "paper"\\'));
      assert.notEqual((await find(world)).cancelledAt, undefined);
      const told = await world.reserveOne({ queues: [world.neighbour] });
      const { cause } = JSON.parse(told.payload.toString()) as { cause: unknown };
      assert.deepEqual(cause, { id: 'a', name: 'Probe', message: 'out of "paper"\\' });
      await world.settles(completed(told), withCause(b), completed(c));
      await counts(world, { completed: 1, failed: 2 });
      await sent(world, 'finally');
    },
    async 'a batch that allows failures runs its other jobs and what follows it'(world) {
      await begin(world, [member('a'), member('b')], { allowsFailures: true });
      await world.settles(withCause(await world.reserveOne()));
      await sent(world, 'catch');
      const b = await world.handsOutToRun();
      await world.settles(completed(b));
      await counts(world, { completed: 1, failed: 1 });
      await sent(world, 'finally', 'next');
    },
    async 'jobs of a cancelled batch are handed out as cancelled and count as skipped, together with their links'(
      world,
    ) {
      await begin(world, [member('a'), member('b', 3)]);
      const a = await world.handsOutToRun();
      assert.equal(await world.batches.cancel(BATCH, world.queue), true);
      assert.equal(await world.batches.cancel(BATCH, world.queue), false, 'once');
      await world.push('plain');
      await world.settles(completed(a));
      const b = await world.reserveOne();
      assert(!isToRun(b), 'the job is handed out as cancelled');
      await world.handsOutToRun();
      await world.settles(cancelled(b));
      await counts(world, { completed: 1, skipped: 3 });
      await sent(world, 'finally');
    },
    async 'a finished, cancelled or unknown batch refuses more jobs, and nothing is written'(world) {
      const refuses = async (end: string): Promise<void> => {
        const push = (): Promise<unknown> => world.connection.push(world.queue, [member('z'), member('y')]);
        await rejectsWithCode(push, 'E_BATCH_ENDED', `a batch that is ${end}`);
        await assert.rejects(push, (error: { facts?: unknown }) => {
          const { batch, end: told } = error.facts as Record<string, unknown>;
          assert.deepEqual({ batch, told }, { batch: BATCH, told: end });
          return true;
        });
        await world.handsOut();
      };
      await refuses('unknown');
      await begin(world, [member('a')]);
      assert.deepEqual(await world.pushed([member('b')]), ['queued']);
      await counts(world, { pending: 2 });
      const [a, b] = await world.reserveAll();
      await world.settles(completed(a!), completed(b!));
      await refuses('finished');
      await begin(world, [member('c')]);
      await world.reserveOne();
      await world.batches.cancel(BATCH, world.queue);
      await refuses('cancelled');
    },
    async 'an open batch does not finish before it is sealed'(world) {
      await begin(world, [member('a')], { openFor: 60 });
      await world.settles(completed(await world.reserveOne()));
      await sent(world);
      await world.connection.push(world.queue, [member('b')]);
      await world.settles(completed(await world.reserveOne()));
      await counts(world, { completed: 2 });
      assert.equal((await find(world)).finishedAt, undefined);
      assert.equal(await world.batches.seal(BATCH, world.queue), true);
      assert.equal(await world.batches.seal(BATCH, world.queue), false, 'once');
      assert.equal((await find(world)).openUntil, undefined);
      await sent(world, 'then', 'finally', 'next');
    },
    async 'a batch that is sealed while jobs are left finishes with the last of them'(world) {
      await begin(world, [member('a')], { openFor: 60 });
      assert.equal(await world.batches.seal(BATCH, world.queue), true);
      await sent(world);
      await world.settles(completed(await world.reserveOne()));
      await sent(world, 'then', 'finally', 'next');
    },
    async 'an abandoned batch is cancelled with a cause once its time is over, and each call extends that time'(world) {
      const cause = { id: BATCH, name: 'images', message: 'half of them' };
      await begin(world, [member('a')], { openFor: 60 });
      await world.advance(40);
      await world.connection.push(world.queue, [member('b')]);
      await world.advance(40);
      assert.equal(await world.batches.seal(BATCH, world.queue, cause), false);
      assert.equal(await world.batches.hold(BATCH, world.queue), true);
      await world.advance(40);
      assert.equal(await world.batches.seal(BATCH, world.queue, cause), false);
      assert.notEqual((await find(world)).openUntil, undefined);
      await world.advance(30);
      assert.equal(await world.batches.seal(BATCH, world.queue, cause), true);
      const told = await world.reserveOne({ queues: [world.neighbour] });
      assert.deepEqual((JSON.parse(told.payload.toString()) as { cause: unknown }).cause, cause);
      await world.settles(completed(told));
      const left = await world.reserveAll();
      assert(!left.some(isToRun), 'its jobs are handed out as cancelled');
      await world.settles(...left.map(cancelled));
      assert.equal(await world.batches.hold(BATCH, world.queue), false);
      await counts(world, { skipped: 2 });
      await sent(world, 'finally');
    },
    async 'a batch that is cancelled or abandoned sends no `then`, even if all its jobs completed'(world) {
      const cause = { id: BATCH, name: 'images', message: 'half of them' };
      await begin(world, [member('a')], { openFor: 60 });
      await world.settles(completed(await world.reserveOne()));
      await world.advance(61);
      assert.equal(await world.batches.seal(BATCH, world.queue, cause), true);
      await sent(world, 'catch', 'finally');
      await begin(world, [member('b')]);
      const b = await world.reserveOne();
      assert.equal(await world.batches.cancel(BATCH, world.queue), true);
      await world.settles(completed(b));
      await sent(world, 'finally');
    },
    async 'progress is sent after every so many ended jobs, each time with a new id'(world) {
      const options = { callbacks: [callback('progress', world.neighbour)], every: 2, allowsFailures: true };
      const [a, b, c, d, e] = await hold(world, ['a', 'b', 'c', 'd', 'e'], options);
      await world.settles(completed(a));
      await sent(world);
      await world.settles(withCause(b));
      await sent(world, 'progress-2');
      await world.settles(completed(c), completed(d), completed(e));
      await sent(world, 'progress-4');
    },
    async 'all callbacks of an event are sent, in their order'(world) {
      const callbacks = ['first', 'second'].map((id) => callback('catch', world.neighbour, id));
      await begin(world, [member('a')], { callbacks });
      await world.settles(withCause(await world.reserveOne()));
      const told = await world.reserveAll({ queues: [world.neighbour] });
      assert.deepEqual(idsOf(told), ['first', 'second']);
    },
    async 'a batch finishes once when two clients settle its last two jobs at the same time'(world) {
      const [a, b] = await hold(world, ['a', 'b']);
      await Promise.all([world.settle([completed(a)]), world.settle([completed(b)], 'alone', world.other)]);
      await counts(world, { completed: 2 });
      await sent(world, 'then', 'finally', 'next');
    },
    async 'batches are listed newest first, and pruned once they are old'(world) {
      const listed = async (limit = 10, offset = 0): Promise<readonly string[]> =>
        (await world.batches.list({ limit, offset })).map(({ id }) => id);
      await begin(world, [member('a')]);
      await world.advance(100);
      await begin(world, [], { id: 'batch-2' });
      await world.advance(100);
      await begin(world, [], { id: 'batch-3' });
      assert.deepEqual(await listed(), ['batch-3', 'batch-2', BATCH]);
      assert.deepEqual(await listed(1, 1), ['batch-2']);
      assert.equal(await world.batches.prune({ olderThan: 50 }), 1);
      assert.deepEqual(await listed(), ['batch-3', BATCH]);
      assert.equal(await world.batches.prune({ olderThan: 50, unfinished: true }), 1);
      assert.deepEqual(await listed(), ['batch-3']);
      await world.settles(completed(await world.reserveOne()));
      assert.deepEqual(await listed(), ['batch-3'], 'a job of a pruned batch still ends');
    },
    async 'finished batches are kept for a day'(world) {
      await begin(world, []);
      await world.advance(86_000);
      await begin(world, [], { id: 'batch-2' });
      assert.notEqual(await world.batches.find(BATCH, world.queue), undefined);
      await world.advance(1000);
      await begin(world, [], { id: 'batch-3' });
      assert.equal(await world.batches.find(BATCH, world.queue), undefined);
    },
  }),
  ...cases(['reserve', 'batches', 'keys'], {
    async 'a batch begins once per key, and each of its pages goes in once'(world) {
      const until = (await world.now()) + 60_000;
      const callbacks = callbacksTo(world.neighbour);
      const begins = { id: BATCH, name: 'images', allowsFailures: false, callbacks, openFor: 60 };
      const push = (key: string, ids: readonly string[], first?: NewBatch) => {
        const entries = ids.map((id) => member(id));
        return world.connection.keys!.pushOnce({ queue: world.queue, entries, begins: first }, { key, until });
      };
      assert.deepEqual(await push('0', ['a', 'b'], begins), ['queued', 'queued']);
      assert.equal(await push('0', ['a', 'b'], begins), 'before');
      assert.deepEqual(await push('1', ['c']), ['queued']);
      assert.equal(await push('1', ['c']), 'before');
      await counts(world, { pending: 3 });
      await world.settles(...(await world.reserveAll()).map(completed));
      await world.batches.seal(BATCH, world.queue);
      await sent(world, 'then', 'finally', 'next');
      await rejectsWithCode(() => push('2', ['d']), 'E_BATCH_ENDED', 'a batch that is finished');
      await world.handsOut();
    },
    async 'pages that come once their open batch was cancelled count as skipped'(world) {
      const until = (await world.now()) + 60_000;
      const callbacks = [...callbacksTo(world.neighbour), callback('progress', world.neighbour)];
      await begin(world, [member('a')], { openFor: 60, callbacks, every: 4 });
      const a = await world.reserveOne();
      await world.settles(withCause(a));
      await sent(world, 'catch');
      const push = (key: string) =>
        world.connection.keys!.pushOnce({ queue: world.queue, entries: [member('b', 2), member('c')] }, { key, until });
      assert.equal(await push('1'), 'skipped');
      assert.equal(await push('1'), 'before');
      await counts(world, { failed: 1, skipped: 3 });
      await sent(world, 'progress-4');
      await world.handsOut();
      assert.equal(await world.batches.seal(BATCH, world.queue), true);
      await sent(world, 'finally');
    },
    async 'a job whose unique key is held does not join the batch'(world) {
      const ties = {
        unique: { key: uniqueKey('Probe', 'one'), until: 'end' as const },
        batch: { id: BATCH, weight: 2 },
      };
      const entries = ['a', 'b'].map((id): Entry => ({ payload: withTies(probe(id), ties), ties }));
      await begin(world, entries, {}, ['queued', { duplicate: 'a' }]);
      await counts(world, { pending: 2 });
      await world.settles(link(await world.reserveOne(), 'c'));
      await counts(world, { pending: 1, completed: 1 });
      assert.deepEqual(await world.pushed([entries[1]!]), ['queued']);
    },
  }),
  ...cases(['reserve', 'batches', 'delay', 'clear'], {
    async 'jobs removed by clearing a queue count as skipped'(world) {
      await begin(world, [member('a'), member('b', 2), member('c', 1, 60)]);
      await world.reserveOne();
      await world.push('plain');
      await world.connection.queues.clear!(world.queue);
      await counts(world, { skipped: 4 });
      await sent(world, 'finally');
    },
  }),
  ...cases(['reserve', 'batches', 'delay', 'control'], {
    async 'a job that is cancelled while it waits counts as skipped'(world) {
      await begin(world, [member('a'), member('b', 2, 60)]);
      assert.equal(await world.control.cancel('a'), 'removed');
      await counts(world, { pending: 2, skipped: 1 });
      assert.equal(await world.control.cancel('b'), 'removed');
      await counts(world, { skipped: 3 });
      await sent(world, 'finally');
    },
  }),
  ...cases(['reserve', 'batches', 'failed'], {
    async 'retrying a failed job makes it pending again and undoes the cancellation of its batch'(world) {
      await begin(world, [member('a', 2)]);
      await world.settles(withCause(await world.reserveOne()));
      await counts(world, { failed: 1, skipped: 1 });
      await sent(world, 'catch', 'finally');
      await world.retries('a');
      await counts(world, { pending: 2 });
      const { cancelledAt, finishedAt } = await find(world);
      assert.deepEqual({ cancelledAt, finishedAt }, { cancelledAt: undefined, finishedAt: undefined });
      await world.settles(link(await world.handsOutToRun(), 'b'));
      await world.settles(completed(await world.handsOutToRun()));
      await counts(world, { completed: 2 });
      await sent(world, 'then', 'next');
    },
    async 'retrying the failed job does not continue what follows a batch if other jobs were skipped'(world) {
      await begin(world, [member('a'), member('b')]);
      await world.settles(withCause(await world.reserveOne()));
      await world.settles(cancelled(await world.reserveOne()));
      await sent(world, 'catch', 'finally');
      await world.retries('a');
      await world.settles(completed(await world.handsOutToRun()));
      await counts(world, { completed: 1, skipped: 1 });
      await sent(world);
    },
    async 'a job that fails again after a retry is not reported a second time'(world) {
      await begin(world, [member('a')]);
      await world.settles(withCause(await world.reserveOne()));
      await world.retries('a');
      await world.settles(withCause(await world.reserveOne()));
      await counts(world, { failed: 1 });
      await sent(world, 'catch', 'finally');
    },
    async 'forgetting a failed job leaves the counts of its batch unchanged'(world) {
      await begin(world, [member('a')]);
      await world.settles(withCause(await world.reserveOne()));
      await world.failedStore.forget(await world.failedEntry('a'));
      await counts(world, { failed: 1 });
    },
  }),
];
