/** Lanes: no more jobs of one key than that are ready or running at a time; the others wait their turn. */
import assert from 'node:assert/strict';
import type { Entry, LaneState, Reservation, Settlement } from '../../connections/contract';
import { withTies, type LaneTie } from '../../payload/ties';
import { type CaseDefinition, cases } from './harness';
import {
  cancelled,
  completed,
  failed,
  givenBack,
  idOf,
  idsOf,
  numbered,
  probe,
  released,
  releasedForFree,
  triedAgain,
  type World,
} from './world';

type Options = Partial<LaneTie> & Pick<Entry, 'delay'>;

/** A probe in a lane, by default `a`, which lets in one job at a time. */
function laned(id: string, { delay, ...tie }: Options = {}): Entry {
  const ties = { lane: { key: 'a', running: 1, ordered: false, ...tie } };
  return { payload: withTies(probe(id), ties), ties, ...(delay !== undefined && { delay }) };
}

const two = { running: 2 };
const ordered = { ordered: true };

const later = (reservation: Reservation): Settlement => triedAgain(reservation, 60);

/** Reserves the job that comes next: this one. */
async function handedOut(world: World, id: string): Promise<Reservation> {
  const job = await world.reserveOne();
  assert.equal(idOf(job), id);
  return job;
}

async function lanes(world: World): Promise<readonly LaneState[]> {
  const all: LaneState[] = [];
  let after: string | undefined;
  do {
    const page = await world.connection.lanes!.list(world.queue, after);
    all.push(...page.lanes);
    after = page.next;
  } while (after !== undefined);
  return all.toSorted((a, b) => (a.lane < b.lane ? -1 : 1));
}

/** Asserts that these lanes are listed, each with how many jobs are in and held. */
async function shows(world: World, ...expected: readonly (readonly [lane: string, inside: number, held: number])[]) {
  const shown = (await lanes(world)).map(({ lane, inside, held }) => [lane, inside, held]);
  assert.deepEqual(shown, expected);
}

export const laneCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'lanes'], {
    async 'a lane hands out no more jobs than it lets in, and the end of one lets in the next, in order'(world) {
      await world.pushEntries(['a', 'b', 'c', 'd'].map((id) => laned(id, two)));
      const [a, b] = await world.reserveEach(['a', 'b']);
      assert.deepEqual(idsOf([a, b]), ['a', 'b']);
      await world.holds({ ready: 2, reserved: 2 });
      await shows(world, ['a', 2, 2]);
      await world.settles(completed(b));
      await world.handsOut('c');
      await world.settles(completed(a));
      await world.handsOut('d');
    },
    async 'a newcomer waits behind no more jobs of a busy lane than it lets in'(world) {
      await world.pushEntries(numbered(12, 'busy').map((id) => laned(id, two)));
      await world.pushEntries(['x', 'y'].map((id) => laned(id, { ...two, key: 'b' })));
      await world.handsOut('busy-1', 'busy-2', 'x', 'y');
    },
    async 'a job without a lane waits for none, whatever its place in a push'(world) {
      await world.pushEntries([laned('a'), laned('b'), { payload: probe('c') }, laned('d', { key: 'b' })]);
      await world.handsOut('a', 'c', 'd');
    },
    async 'each queue has lanes of its own'(world) {
      await world.pushEntries([laned('a')]);
      await world.pushEntries([laned('b')], world.secondQueue);
      await world.handsOut('a');
      const other = await world.reserveOne({ queues: [world.secondQueue] });
      assert.equal(idOf(other), 'b');
    },
    async 'a settle that also reserves hands out the job that it lets in'(world) {
      await world.pushEntries([laned('a'), laned('b')]);
      const a = await world.reserveOne();
      const { reply } = await world.exchange([completed(a)], 1);
      assert.deepEqual(idsOf(reply.reservations), ['b']);
    },
    async 'the ends of several jobs of a lane let in as many'(world) {
      await world.pushEntries(numbered(6).map((id) => laned(id, two)));
      const [first, second] = await world.reserveEach(['probe-1', 'probe-2']);
      await world.settles(completed(first), completed(second));
      await world.handsOut('probe-3', 'probe-4');
    },
    async 'a job that was cancelled while it ran lets in the next'(world) {
      await world.pushEntries([laned('a'), laned('b')]);
      await world.settles(cancelled(await world.reserveOne()));
      await shows(world, ['a', 1, 0]);
      await world.handsOut('b');
    },
    async 'a job that is ready again at once keeps its place'(world) {
      await world.pushEntries([laned('a'), laned('b')]);
      for (const back of [released, releasedForFree, givenBack]) {
        const a = await handedOut(world, 'a');
        await world.settles(back(a));
      }
      await world.handsOut('a');
    },
    async 'a job whose worker died keeps its place, and its lost outcome lets nobody in'(world) {
      await world.pushEntries([laned('a'), laned('b')]);
      const frozen = await world.reserveOne({ lease: 30 });
      await world.advance(31);
      const current = await handedOut(world, 'a');
      await world.loses(completed(frozen));
      await world.pushEntries([laned('c')]);
      await shows(world, ['a', 1, 2]);
      await world.handsOut();
      await world.settles(completed(current));
      await world.handsOut('b');
    },
    async 'the last push of a lane says how many it lets in'(world) {
      await world.pushEntries(numbered(3).map((id) => laned(id)));
      await world.handsOut('probe-1');
      await world.pushEntries([laned('more', { running: 3 })]);
      await world.handsOut('probe-2', 'probe-3');
      await shows(world, ['a', 3, 1]);
    },
    async 'when many clients push jobs of one lane at once, it lets in no more'(world) {
      await world.atOnce(20, (client, id) => client.push(world.queue, [laned(id, { running: 3 })]));
      assert.equal((await world.reserveAll()).length, 3);
      await shows(world, ['a', 3, 17]);
    },
    async 'a lane without jobs is not listed'(world) {
      await world.pushEntries([laned('a'), laned('b')]);
      for (let count = 0; count < 2; count += 1) await world.settles(completed(await world.reserveOne()));
      await shows(world);
    },
    async 'the failure of a job, and its release with a delay, let in the next while other jobs wait'(world) {
      await world.pushEntries(numbered(3).map((id) => laned(id)));
      const first = await world.reserveOne();
      await world.push('x');
      await world.settles(failed(first));
      await shows(world, ['a', 1, 1]);
      const [, second] = await world.reserveEach(['x', 'probe-2']);
      await world.push('y');
      await world.settles(later(second));
      await shows(world, ['a', 1, 0]);
    },
    async 'one lane is found among others, and none that has no jobs'(world) {
      const { lanes: store } = world.connection;
      await world.pushEntries([...['a', 'b', 'c'].map((id) => laned(id, two)), laned('x', { key: 'ab' })]);
      const found = { lane: 'a', inside: 2, held: 1, running: 2, paused: false };
      assert.deepEqual(await store!.find(world.queue, 'a'), found);
      assert.equal(await store!.find(world.queue, 'aa'), undefined);
      assert.equal(await store!.find(`${world.queue}-other`, 'a'), undefined);
    },
    async 'many lanes are listed page by page, each once'(world) {
      const keys = Array.from({ length: 250 }, (_, at) => `lane-${String(at).padStart(3, '0')}`);
      for (let at = 0; at < 250; at += 50)
        await world.pushEntries(keys.slice(at, at + 50).map((key) => laned(key, { key })));
      assert.deepEqual(
        (await lanes(world)).map(({ lane }) => lane),
        keys,
      );
    },
    async 'a higher limit lets jobs in, a lower one stops nobody, and without one the jobs say how many'(world) {
      const { lanes: store } = world.connection;
      await world.pushEntries(numbered(6).map((id) => laned(id, two)));
      await store!.change(world.queue, 'a', { limit: 3 });
      const [first, second] = await world.reserveEach(['probe-1', 'probe-2', 'probe-3']);
      await store!.change(world.queue, 'a', { limit: 1 });
      await world.settles(completed(first), completed(second));
      await world.handsOut();
      assert.deepEqual(await lanes(world), [{ lane: 'a', inside: 1, held: 3, running: 1, paused: false }]);
      await store!.change(world.queue, 'a', { limit: undefined });
      await world.handsOut('probe-4');
    },
    async 'a paused lane lets in none until it is resumed, and those that are in go on'(world) {
      const { lanes: store } = world.connection;
      await store!.change(world.queue, 'b', { paused: true });
      await world.pushEntries([laned('a', two), laned('b', two), laned('c', two), laned('x', { key: 'b' })]);
      await store!.change(world.queue, 'a', { paused: true });
      const [a] = await world.reserveEach(['a', 'b']);
      await world.settles(completed(a));
      await world.handsOut();
      const [one, other] = await lanes(world);
      assert.deepEqual([one?.paused, one?.running, other?.held], [true, 2, 1]);
      for (const key of ['a', 'b']) await store!.change(world.queue, key, { paused: false });
      await world.handsOut('c', 'x');
      await shows(world, ['a', 2, 0], ['b', 1, 0]);
    },
    async 'a limit set for a lane without jobs counts for those that come'(world) {
      const { lanes: store } = world.connection;
      await store!.change(world.queue, 'a', { limit: 2 });
      await world.pushEntries(numbered(3).map((id) => laned(id)));
      await world.handsOut('probe-1', 'probe-2');
    },
    async 'nothing that was set for the lanes of a queue outlives it'(world) {
      const { lanes: store, queues } = world.connection;
      if (queues.forget === undefined) return;
      await world.pushEntries([laned('a')]);
      await store!.change(world.queue, 'a', { limit: 2 });
      await store!.change(world.queue, 'b', { paused: true });
      await world.settles(completed(await world.reserveOne()));
      assert.equal(await queues.forget(world.queue), true);
      await world.pushEntries([laned('c'), laned('d'), laned('e', { key: 'b' })]);
      await world.handsOut('c', 'e');
    },
    async 'a client that waits is woken when a lane gets room'(world) {
      await world.pushEntries([laned('a'), laned('b')]);
      const a = await world.reserveOne();
      const waiting = world.reserve({ within: 30 }, world.other);
      await world.settles(completed(a));
      assert.deepEqual(idsOf((await world.soon(waiting, 'the wait')).reservations), ['b']);
    },
  }),
  ...cases(['reserve', 'delay', 'lanes'], {
    async 'a delayed job takes a place only when it is due, and is held if there is none'(world) {
      await world.pushEntries([laned('late', { delay: 60 }), laned('a'), laned('b')]);
      const a = await world.reserveOne();
      await world.holds({ ready: 1, delayed: 1, reserved: 1 });
      await world.advance(61);
      await world.handsOut();
      await world.holds({ ready: 2, reserved: 1 });
      await world.settles(completed(a));
      await world.handsOut('b');
    },
    async 'a delayed job alone in its queue finds room when it is due'(world) {
      await world.pushEntries([laned('a', { delay: 60 }), laned('b', { delay: 60 })]);
      await world.advance(61);
      await world.handsOut('a');
      await shows(world, ['a', 1, 1]);
    },
    async 'a job that waits for its next attempt leaves its place to others'(world) {
      await world.pushEntries([laned('a'), laned('b')]);
      await world.settles(later(await world.reserveOne()));
      const b = await handedOut(world, 'b');
      await world.advance(61);
      await world.handsOut();
      await world.settles(completed(b));
      await world.handsOut('a');
    },
    async 'in an ordered lane, a job that waits for its next attempt is overtaken by none'(world) {
      await world.pushEntries([laned('a', ordered), laned('b', ordered)]);
      await world.settles(later(await world.reserveOne()));
      await world.handsOut();
      await world.holds({ ready: 1, delayed: 1 });
      await world.advance(61);
      const a = await handedOut(world, 'a');
      await world.settles(completed(a));
      await world.handsOut('b');
    },
    async 'in an ordered lane, no limit lets in a second job'(world) {
      await world.pushEntries([laned('a', ordered), laned('b', ordered)]);
      await world.connection.lanes!.change(world.queue, 'a', { limit: 5 });
      await world.handsOut('a');
    },
  }),
  ...cases(['reserve', 'failed', 'lanes'], {
    async 'a failed job lets in the next, and waits behind the held ones when it is sent back'(world) {
      await world.pushEntries([laned('a'), laned('b'), laned('c')]);
      await world.settles(failed(await world.reserveOne()));
      const b = await handedOut(world, 'b');
      await world.retries('a');
      await world.settles(completed(b));
      const c = await handedOut(world, 'c');
      await world.settles(completed(c));
      await world.handsOut('a');
    },
  }),
  ...cases(['reserve', 'follows', 'lanes'], {
    async 'a job that follows another in the same lane waits behind the held ones'(world) {
      await world.pushEntries([laned('a'), laned('b')]);
      const a = await world.reserveOne();
      await world.settles({ ...completed(a), next: [{ queue: world.queue, entry: laned('after-a') }] });
      const b = await handedOut(world, 'b');
      await shows(world, ['a', 1, 1]);
      await world.settles(completed(b));
      await world.handsOut('after-a');
    },
    async 'a job that follows another in a full lane is held, and one that follows later is when it is due'(world) {
      await world.pushEntries([laned('x', { key: 'b' }), { payload: probe('plain') }]);
      const [x, plain] = await world.reserveEach(['x', 'plain']);
      const next = [laned('now', { key: 'b' }), laned('soon', { key: 'b', delay: 60 })];
      await world.settles({
        ...completed(plain),
        next: next.map((entry) => ({ queue: world.queue, entry })),
      });
      await world.advance(61);
      await world.handsOut();
      await world.settles(completed(x));
      await world.handsOut('now');
      await shows(world, ['b', 1, 1]);
    },
    async 'a lost outcome brings no follower into a lane'(world) {
      await world.pushEntries([laned('a')]);
      const a = await world.reserveOne();
      await world.settles(completed(a));
      await world.loses({ ...completed(a), next: [{ queue: world.queue, entry: laned('after-a') }] });
      await shows(world);
    },
  }),
  ...cases(['reserve', 'control', 'delay', 'lanes'], {
    async 'a cancelled job that waited leaves its place, if it had one'(world) {
      await world.pushEntries([...['a', 'b', 'c', 'd'].map((id) => laned(id)), laned('late', { delay: 60 })]);
      assert.equal(await world.control.cancel('b'), 'removed');
      assert.equal(await world.control.cancel('late'), 'removed');
      await shows(world, ['a', 1, 2]);
      assert.equal(await world.control.cancel('a'), 'removed');
      await shows(world, ['a', 1, 1]);
      await world.handsOut('c');
    },
    async 'a cancelled job of an ordered lane that waited for its next attempt lets in the next'(world) {
      await world.pushEntries([laned('a', ordered), laned('b', ordered)]);
      await world.settles(later(await world.reserveOne()));
      assert.equal(await world.control.cancel('a'), 'removed');
      await shows(world, ['a', 1, 0]);
      await world.handsOut('b');
    },
    async 'a paused queue goes on letting in jobs of its lanes'(world) {
      await world.pushEntries([laned('a'), laned('b')]);
      const a = await world.reserveOne();
      await world.control.pause(world.queue);
      await world.settles(completed(a));
      await shows(world, ['a', 1, 0]);
      await world.control.resume(world.queue);
      await world.handsOut('b');
    },
  }),
  ...cases(['reserve', 'reschedule', 'delay', 'lanes'], {
    async 'a delayed job that is made ready by hand is held if its lane is full, and comes in when there is room'(
      world,
    ) {
      await world.pushEntries([laned('a'), laned('late', { delay: 60 })]);
      assert.equal(await world.control.reschedule!('late', { delay: 0 }), 'ready');
      await shows(world, ['a', 1, 1]);
      await world.settles(completed(await world.reserveOne()));
      await world.handsOut('late');
    },
    async 'a job of an ordered lane that is tried again by hand needs no other place'(world) {
      await world.pushEntries([laned('a', ordered), laned('b', ordered)]);
      await world.settles(later(await world.reserveOne()));
      assert.equal(await world.control.reschedule!('a', { delay: 0 }), 'ready');
      await shows(world, ['a', 1, 1]);
      await world.handsOut('a');
    },
  }),
  ...cases(['reserve', 'clear', 'delay', 'lanes'], {
    async 'the first of very many comes in next, and a cleared queue has no jobs in its lanes and takes new ones'(
      world,
    ) {
      await world.pushEntries([...numbered(150).map((id) => laned(id, two)), laned('late', { delay: 60 })]);
      await world.pushEntries([laned('x', { key: 'b', ...ordered }), { payload: probe('plain') }]);
      await world.settles(completed(await world.reserveOne()));
      await world.handsOut('probe-2', 'x', 'plain', 'probe-3');
      assert.equal(await world.connection.queues.clear!(world.queue), 152);
      await world.holds({});
      await shows(world);
      await world.pushEntries([laned('new'), laned('newer')]);
      await world.handsOut('new');
    },
  }),
  ...cases(['reserve', 'peek', 'find', 'lanes'], {
    async 'held jobs are shown and found as ready ones, behind the others'(world) {
      await world.pushEntries([...['a', 'b', 'c'].map((id) => laned(id)), { payload: probe('plain') }]);
      const { queues } = world.connection;
      const shown = await queues.peek!(world.queue, 'ready', 10);
      assert.deepEqual(idsOf(shown), ['a', 'plain', 'b', 'c']);
      assert.deepEqual(idsOf(await queues.peek!(world.queue, 'ready', 10, shown[1]!.place)), ['b', 'c']);
      assert.deepEqual(idsOf(await queues.peek!(world.queue, 'ready', 10, shown[2]!.place)), ['c']);
      assert.deepEqual(idsOf(await queues.peek!(world.queue, 'ready', 3)), ['a', 'plain', 'b']);
      const found = await queues.find!('c', world.queue);
      assert(found !== undefined && found !== 'unseen', 'the job is found');
      assert.equal(found.state, 'ready');
      assert.equal(String(found.payload), laned('c').payload);
    },
  }),
  ...cases(['reserve', 'keys', 'delay', 'lanes'], {
    async 'a job that is pushed once is let into its lane as any other'(world) {
      const now = await world.now();
      const { keys } = world.connection;
      const push = (id: string): unknown =>
        keys!.pushOnce({ queue: world.queue, entries: [laned(id)] }, { key: id, until: now + 60_000 });
      for (const id of ['a', 'b']) await push(id);
      await shows(world, ['a', 1, 1]);
      await world.handsOut('a');
    },
    async 'a job can have a lane and a unique key'(world) {
      const entry = (id: string): Entry => {
        const unique = { key: `${id}${'-'.repeat(22 - id.length)}`, until: 'end' as const };
        const ties = { unique, lane: { key: 'a', running: 1, ordered: false } };
        return { payload: withTies(probe(id), ties), ties };
      };
      await world.pushEntries([entry('a'), entry('b')]);
      assert.deepEqual(await world.pushed([entry('b')]), [{ duplicate: 'b' }]);
      await world.settles(completed(await world.reserveOne()));
      await world.settles(completed(await world.reserveOne()));
      assert.deepEqual(await world.pushed([entry('b')]), ['queued']);
      await world.handsOut('b');
    },
  }),
];
