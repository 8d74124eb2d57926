/** A limit of a queue: only so many of its jobs are handed out at a time, whoever asks. */
import assert from 'node:assert/strict';
import type { Reservation } from '../../connections/contract';
import { firstJob } from './delay-cases';
import { type CaseDefinition, cases } from './harness';
import { completed, failed, givenBack, idsOf, numbered, released, type World } from './world';

/** Takes as many jobs as the store hands out to this client. */
const taken = async (world: World, client = world.connection): Promise<readonly unknown[]> =>
  idsOf((await world.reserve({ limit: 10 }, client)).reservations);

export const limitCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'limits'], {
    async 'of a limited queue no more jobs are handed out at a time, to any client, and one more for each that ends'(
      world,
    ) {
      await world.push(...numbered(8));
      await world.otherControl.limit!(world.queue, 3);
      const { reservations } = await world.reserve({ limit: 10 });
      assert.equal(reservations.length, 3);
      for (const client of [world.connection, world.other]) assert.deepEqual(await taken(world, client), []);
      const [first, second, third] = reservations as [Reservation, Reservation, Reservation];
      const { reply } = await world.exchange([completed(first), completed(second)], 10);
      assert.equal(reply.reservations.length, 2, 'the call that ends two gets two');
      await world.settles(completed(third));
      assert.equal((await taken(world, world.other)).length, 1, 'another client gets the place of a job that ended');
      await world.holds({ ready: 2, reserved: 3 });
    },
    async 'each way in which a job ends makes room'(world) {
      await world.control.limit!(world.queue, 1);
      await world.push(...numbered(5));
      for (const end of [completed, (job: Reservation) => released(job, 600), givenBack, completed]) {
        const { reservations } = await world.reserve({ limit: 10 });
        assert.equal(reservations.length, 1);
        assert.deepEqual(await taken(world), []);
        await world.settles(end(reservations[0]!));
      }
      assert.equal((await taken(world)).length, 1);
    },
    async 'a full queue is passed over, and is no reason to look again now'(world) {
      await world.control.limit!(world.queue, 1);
      await world.push(...numbered(3));
      await world.pushTo(world.secondQueue, 'other');
      const { reservations } = await world.reserve({ queues: world.queues, limit: 10 });
      assert.deepEqual(new Set(idsOf(reservations)), new Set([numbered(1)[0], 'other']));
      const { nextIn } = await world.reserve({ queues: world.queues, limit: 10 });
      assert(nextIn > 0, 'nothing can be handed out now');
    },
    async 'a limit is kept until it is changed, and limits are listed by name'(world) {
      const { control, otherControl, queue, secondQueue } = world;
      assert.deepEqual(await control.limits!(), []);
      await control.limit!('c', 7);
      await control.limit!(secondQueue, 2);
      await otherControl.limit!(queue, 5);
      await otherControl.limit!(queue, 4);
      const expected = [
        { queue: 'c', running: 7 },
        { queue: secondQueue, running: 2 },
        { queue, running: 4 },
      ];
      assert.deepEqual(await otherControl.limits!(), expected);
      await control.limit!('c');
      await control.limit!('never limited');
      assert.deepEqual(await control.limits!(), expected.slice(1));
    },
    async 'lowering a limit stops no job, and raising or removing it lets more be handed out'(world) {
      const { control, queue } = world;
      await control.limit!(queue, 3);
      const [a, b, ...more] = (await (async () => {
        await world.push(...numbered(8));
        return (await world.reserve({ limit: 10 })).reservations;
      })()) as [Reservation, Reservation, ...Reservation[]];
      assert.equal(more.length, 1);
      await control.limit!(queue, 1);
      await world.settles(completed(a), completed(b));
      assert.deepEqual(await taken(world), [], 'one still runs');
      await control.limit!(queue, 2);
      assert.equal((await taken(world)).length, 1);
      await control.limit!(queue);
      assert.equal((await taken(world)).length, 4);
    },
    async 'a waiting call is answered when the limit of its queue is raised'(world) {
      await world.push('a', 'b');
      await world.control.limit!(world.queue, 1);
      await world.reserveOne();
      const job = firstJob(world);
      await world.otherControl.limit!(world.queue, 2);
      await world.soon(job, 'a job that may run now');
    },
    async 'many clients that take and end jobs at the same time never hold more than may run'(world) {
      await world.control.limit!(world.queue, 3);
      await world.push(...numbered(40));
      const held = new Set<unknown>();
      let most = 0;
      let ended = 0;
      await world.atOnce(8, async (client) => {
        for (let call = 0; call < 10; call += 1) {
          const { reservations } = await world.reserve({ limit: 5 }, client);
          for (const { payload } of reservations) held.add(payload);
          most = Math.max(most, held.size);
          for (const reservation of reservations) {
            // It makes room no sooner than this call is carried out.
            held.delete(reservation.payload);
            assert.deepEqual(await world.settle([completed(reservation)], 'alone', client), ['settled']);
            ended += 1;
          }
        }
      });
      assert(most <= 3, `${most} jobs were held at a time`);
      const left = await world.takeAll({ limit: 10 });
      assert(left.reservations.length <= 3);
      await world.holds({ ready: 40 - ended - left.reservations.length, reserved: left.reservations.length });
    },
  }),
  ...cases(['reserve', 'renew', 'limits'], {
    async 'a job of a client that died counts until its lease ends, and a look is due then'(world) {
      await world.control.limit!(world.queue, 1);
      await world.hold('a', 60);
      await world.push('b');
      const { reservations, nextIn } = await world.reserve({}, world.other);
      assert.deepEqual(reservations, []);
      assert(nextIn > 30 && nextIn <= 60, `the lease ends in 60 s, not in ${nextIn} s`);
      await world.advance(61);
      assert.deepEqual(await taken(world, world.other), ['a'], 'it comes back first, and takes its place again');
    },
  }),
  ...cases(['reserve', 'delay', 'limits'], {
    async 'jobs of a full queue become due, and are handed out when there is room'(world) {
      await world.control.limit!(world.queue, 1);
      const held = await world.hold('a');
      await world.pushLater('b', 60);
      await world.advance(61);
      assert.deepEqual(await taken(world), []);
      assert.deepEqual(idsOf((await world.exchange([completed(held)], 10)).reply.reservations), ['b']);
    },
  }),
  ...cases(['reserve', 'failed', 'limits'], {
    async 'a job that fails makes room'(world) {
      await world.control.limit!(world.queue, 1);
      const held = await world.hold('a');
      await world.push('b');
      await world.settles(failed(held));
      assert.deepEqual(await taken(world), ['b']);
    },
    async 'a limit outlasts a queue that is forgotten'(world) {
      const { connection, control, queue } = world;
      await control.limit!(queue, 1);
      await world.settles(completed(await world.hold('a')));
      if ((await connection.queues.forget?.(queue)) === true)
        assert.deepEqual(await control.limits!(), [{ queue, running: 1 }]);
      await world.push('b', 'c');
      assert.equal((await taken(world)).length, 1);
    },
  }),
];
