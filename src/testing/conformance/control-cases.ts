/** Orders reach every worker through the store: a queue is paused, all are told to start anew. */
import assert from 'node:assert/strict';
import type { CaseDefinition } from './harness';
import { completed, idOf, idsOf, probe, rejectsWithCode, released } from './world';

const pauseCases: readonly CaseDefinition[] = [
  {
    name: 'a paused queue hands out nothing, and loses nothing: resumed, it hands out all',
    requires: ['reserve', 'delay', 'control'],
    async run(world) {
      await world.push(probe('a'));
      await world.pushLater(probe('later'), 60);
      assert.equal(await world.control.pause(world.queue), true);
      await world.push(probe('b'));
      await world.advance(61);
      const { reservations, paused } = await world.reserve({ limit: 10 });
      assert.deepEqual(reservations, []);
      assert.deepEqual(paused, [world.queue]);
      assert.equal(await world.control.resume(world.queue), true);
      const ids = idsOf(await world.reserveAll());
      assert.deepEqual(new Set(ids), new Set(['a', 'b', 'later']));
      assert.equal(ids.length, 3);
    },
  },
  {
    name: 'a pause is seen by every client of the store, in each of its reserves, and a resume as well',
    requires: ['reserve', 'control'],
    async run(world) {
      await world.push(probe('a'));
      await world.reserve({ queues: [world.secondQueue] }, world.other);
      await world.control.pause(world.queue);
      const reply = await world.reserve({}, world.other);
      assert.deepEqual([reply.reservations, reply.paused], [[], [world.queue]]);
      assert.deepEqual((await world.settleAndReserve([], 1)).reply.paused, [world.queue]);
      assert.deepEqual(await world.otherControl.paused(), [{ queue: world.queue }]);
      await world.control.resume(world.queue);
      const after = await world.reserve({}, world.other);
      assert.deepEqual(idsOf(after.reservations), ['a']);
      assert.deepEqual(after.paused ?? [], []);
    },
  },
  {
    name: 'other queues of the same request are served while one is paused',
    requires: ['reserve', 'control'],
    async run(world) {
      await world.push(probe('a'));
      await world.pushTo(world.secondQueue, [probe('b')]);
      await world.control.pause(world.queue);
      const queues = [world.queue, world.secondQueue];
      const { reservations, paused, nextIn } = await world.reserve({ queues });
      assert.deepEqual(idsOf(reservations), ['b']);
      assert.deepEqual(paused, [world.queue]);
      assert.equal(nextIn > 0, true, 'what is paused is nothing that could be had now');
    },
  },
  {
    name: 'what waits in a paused queue gives no moment to look again',
    requires: ['reserve', 'delay', 'renew', 'control'],
    async run(world) {
      await world.push(probe('held'), probe('ready'));
      await world.reserveOne({ lease: 30 });
      await world.pushLater(probe('later'), 60);
      await world.connection.push(world.secondQueue, [{ payload: probe('b'), delay: 300 }]);
      await world.control.pause(world.queue);
      assert.equal((await world.reserve()).nextIn, Infinity);
      const { nextIn } = await world.reserve({ queues: [world.queue, world.secondQueue] });
      assert(nextIn > 280 && nextIn <= 300, `the other queue has a job in 300 s, not in ${nextIn} s`);
    },
  },
  {
    name: 'jobs that run go on while their queue is paused: they are renewed, given back and completed',
    requires: ['reserve', 'renew', 'control'],
    async run(world) {
      await world.push(probe('a'), probe('b'));
      const reservations = await world.reserveAll();
      await world.control.pause(world.queue);
      const [a, b] = reservations;
      assert(a !== undefined && b !== undefined, 'both are handed out');
      assert.deepEqual(await world.renew([a, b], 600), ['renewed', 'renewed']);
      const { results, reply } = await world.settleAndReserve([completed(a), released(b)], 5);
      assert.deepEqual(results, ['settled', 'settled']);
      assert.deepEqual(reply.reservations, []);
      await world.control.resume(world.queue);
      assert.deepEqual(idsOf(await world.reserveAll()), ['b']);
    },
  },
  {
    name: 'a job whose lease ends in a paused queue is kept, and runs again after it',
    requires: ['reserve', 'renew', 'control'],
    async run(world) {
      await world.push(probe('a'));
      await world.reserveOne({ lease: 60 });
      await world.control.pause(world.queue);
      await world.advance(61);
      assert.deepEqual((await world.reserve()).reservations, []);
      await world.control.resume(world.queue);
      assert.equal((await world.reserveOne()).counters.crashes, 1);
    },
  },
  {
    name: 'a job in a paused queue can be cancelled',
    requires: ['reserve', 'control'],
    async run(world) {
      await world.push(probe('a'), probe('b'));
      await world.control.pause(world.queue);
      const result = await world.control.cancel('a');
      assert(result === 'removed' || result === 'marked', `it waits: '${result}' does not say what becomes of it`);
      await world.control.resume(world.queue);
      const left = (await world.reserveAll()).filter((reservation) => reservation.cancelled !== true);
      assert.deepEqual(idsOf(left), ['b']);
    },
  },
  {
    name: 'pausing and resuming say whether they changed something, and what is paused is listed in order',
    requires: ['control'],
    async run(world) {
      const { control } = world;
      assert.deepEqual(await control.paused(), []);
      assert.equal(await control.resume('b'), false);
      assert.equal(await control.pause('b'), true);
      assert.equal(await control.pause('b'), false);
      assert.equal(await control.pause('c'), true);
      assert.equal(await control.pause('a'), true);
      assert.deepEqual(await control.paused(), [{ queue: 'a' }, { queue: 'b' }, { queue: 'c' }]);
      assert.equal(await control.resume('b'), true);
      assert.equal(await control.resume('b'), false);
      assert.deepEqual(await control.paused(), [{ queue: 'a' }, { queue: 'c' }]);
    },
  },
  {
    name: 'a pause for a time is told with its end, and is over by itself, though nobody looked meanwhile',
    requires: ['reserve', 'control'],
    async run(world) {
      await world.push(probe('a'));
      await world.pushTo(world.secondQueue, [probe('b')]);
      const began = await world.now();
      assert.equal(await world.control.pause(world.queue, 600), true);
      await world.control.pause(world.secondQueue);
      const [pause] = (await world.otherControl.paused()).filter(({ queue }) => queue === world.queue);
      const seconds = ((pause?.until ?? 0) - began) / 1000;
      assert(seconds > 595 && seconds < 660, `it ends in 600 s, and not in ${seconds} s`);
      const { reservations, paused, nextIn } = await world.reserve({ queues: [world.queue, world.secondQueue] });
      assert.deepEqual([reservations, paused], [[], [world.queue, world.secondQueue]]);
      assert(nextIn > 540 && nextIn <= 600, `a look is worth while in 600 s, and not in ${nextIn} s`);
      await world.advance(601);
      assert.deepEqual(await world.otherControl.paused(), [{ queue: world.secondQueue }]);
      assert.equal(await world.control.resume(world.queue), false, 'it goes on already');
      assert.equal(await world.control.pause(world.queue, 600), true);
      await world.advance(601);
      const after = await world.reserve({}, world.other);
      assert.deepEqual([idsOf(after.reservations), after.paused ?? []], [['a'], []]);
      assert.deepEqual(await world.control.paused(), [{ queue: world.secondQueue }]);
    },
  },
  {
    name: 'the last word says how long a queue is paused',
    requires: ['reserve', 'control'],
    async run(world) {
      const { control, queue } = world;
      await world.push(probe('a'));
      await control.pause(queue, 60);
      assert.equal(await control.pause(queue), false);
      await world.advance(61);
      assert.deepEqual(await control.paused(), [{ queue }], 'until it is resumed');
      assert.deepEqual((await world.reserve()).reservations, []);
      assert.equal(await control.pause(queue, 60), false);
      await world.advance(30);
      assert.equal(await control.pause(queue, 60), false);
      await world.advance(40);
      assert.deepEqual((await world.reserve()).paused, [queue], 'put off');
      assert.equal(await control.resume(queue), true);
      await control.pause(queue);
      await world.advance(61);
      assert.deepEqual((await world.reserve()).paused, [queue], 'nothing is left of an end from before a resume');
      await control.pause(queue, 60);
      await world.advance(61);
      assert.deepEqual(idsOf(await world.reserveAll()), ['a']);
    },
  },
  {
    name: 'a queue that was only paused is none that was pushed to',
    requires: ['control'],
    async run(world) {
      await world.control.pause('never-pushed-to');
      assert.deepEqual(await world.connection.queues(), []);
    },
  },
  {
    name: 'a waiting worker wakes when its queue is resumed by another client',
    requires: ['reserve', 'wake', 'control'],
    async run(world) {
      await world.push(probe('a'));
      await world.control.pause(world.queue);
      const waiter = world.connection.waiter([world.queue]);
      assert.deepEqual((await world.reserve()).reservations, []);
      const wait = waiter.wait(30, new AbortController().signal);
      await world.otherControl.resume(world.queue);
      await world.soon(wait, 'a wake-up by a resume');
      assert.equal(idOf(await world.reserveOne()), 'a');
    },
  },
];

const restartCases: readonly CaseDefinition[] = [
  {
    name: 'a store in which nobody asked for a restart says nothing of one',
    requires: ['reserve', 'control'],
    async run(world) {
      await world.push(probe('a'));
      assert.equal((await world.reserve()).restart, undefined);
      assert.equal((await world.reserve()).restart, undefined);
    },
  },
  {
    name: 'every reserve of every client says the same of a restart, until the next one',
    requires: ['reserve', 'control'],
    async run(world) {
      await world.reserve();
      const restarts = async (): Promise<ReadonlySet<string | undefined>> => {
        const empty = await world.reserve({}, world.other);
        await world.push(probe('a'));
        const full = await world.reserve();
        const { reply } = await world.settleAndReserve(full.reservations.map(completed), 1);
        const again = await world.reserve();
        return new Set([empty.restart, full.restart, reply.restart, again.restart]);
      };
      await world.control.restart();
      const [first, ...others] = await restarts();
      assert.equal(typeof first, 'string');
      assert.deepEqual(others, [], 'all say the same');
      await world.otherControl.restart();
      const [second, ...more] = await restarts();
      assert.deepEqual(more, [], 'all say the same');
      assert.notEqual(second, first);
    },
  },
];

export const controlCases: readonly CaseDefinition[] = [
  ...pauseCases,
  ...restartCases,
  {
    name: 'a closed connection refuses to give orders',
    requires: ['control'],
    async run(world) {
      const { control } = world;
      await world.connection.close();
      const calls = [
        () => control.cancel('a'),
        () => control.pause('probes'),
        () => control.resume('probes'),
        () => control.paused(),
        () => control.restart(),
      ];
      for (const call of calls) await rejectsWithCode(call, 'E_CONNECTION_CLOSED', 'a closed connection');
    },
  },
];
