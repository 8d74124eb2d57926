/** A lock has one owner at a time, and an end. */
import assert from 'node:assert/strict';
import { cases, type CaseDefinition } from './cases';

export const lockCases: readonly CaseDefinition[] = [
  ...cases(['locks'], {
    async 'a lock has one owner at a time, even if two clients ask at once'(world) {
      const results = await world.atOnce(2, ({ locks }, owner) => locks!.acquire('l', owner, 60));
      assert.equal(results.filter(Boolean).length, 1);
    },
    async 'locks with different names are independent'(world) {
      assert.equal(await world.lockStore.acquire('a', 'mine', 60), true);
      assert.equal(await world.lockStore.acquire('b', 'theirs', 60), true);
    },
    async 'an owner that acquires or renews its lock again holds it for the new time'(world) {
      for (const again of ['acquire', 'renew'] as const) {
        await world.lockStore.acquire(again, 'mine', 60);
        await world.advance(50);
        assert.equal(await world.lockStore[again](again, 'mine', 600), true);
        await world.advance(20);
        assert.equal(await world.lockStore.acquire(again, 'theirs', 60), false);
      }
    },
    async 'a lock that is not renewed ends, and another client can acquire it'(world) {
      await world.lockStore.acquire('l', 'mine', 0.2);
      await world.advance(0.2);
      await world.eventually(() => world.lockStore.acquire('l', 'theirs', 60), 'the end of the lock');
      assert.equal(await world.lockStore.renew('l', 'mine', 60), false);
      assert.equal(await world.lockStore.release('l', 'mine'), false);
      assert.equal(await world.lockStore.acquire('l', 'mine', 60), false);
    },
    async 'only its owner can renew or release a lock'(world) {
      await world.lockStore.acquire('l', 'mine', 60);
      assert.equal(await world.lockStore.renew('l', 'theirs', 60), false);
      assert.equal(await world.lockStore.release('l', 'theirs'), false);
      assert.equal(await world.lockStore.acquire('l', 'theirs', 60), false);
    },
    async 'a released lock is free and cannot be renewed or released again'(world) {
      await world.lockStore.acquire('l', 'mine', 60);
      assert.equal(await world.lockStore.release('l', 'mine'), true);
      assert.equal(await world.lockStore.release('l', 'mine'), false);
      assert.equal(await world.lockStore.renew('l', 'mine', 60), false);
      assert.equal(await world.lockStore.acquire('l', 'theirs', 60), true);
    },
  }),
];
