/**
 * Wakes those who wait for a record, by a NOTIFY in the statement that writes it. One connection listens for all of them.
 *
 * NOTIFY makes commits wait for each other, so it is sent only if somebody listens, in any process: listeners hold shared
 * advisory locks. A statement that can lock one exclusively notifies nobody, and keeps the lock until it is committed.
 * Whoever starts to listen waits for that, and finds the record on its first look. There are several locks, so that
 * statements seldom get in each other's way.
 */
import { createHash } from 'node:crypto';
import { RecordListeners } from '../../kit/record-listeners';
import type { RecordWakes } from '../records';
import { raw, sql } from '../statement';
import { literal } from './identifiers';
import { type ChannelSettings, PostgresChannel } from './postgres-channel';

const LOCKS = 64;

/** The first lock of a channel, a number that no other program should use by chance: below 2 ** 53. */
const firstLock = (channel: string): number => createHash('sha1').update(channel).digest().readUIntBE(0, 5) * LOCKS;

/** Which lock belongs to a record: any will do. */
function placeOf(id: string): number {
  let sum = 0;
  for (let at = 0; at < id.length; at += 1) sum += id.charCodeAt(at);
  return sum % LOCKS;
}

/** A kind consists of lower-case letters. */
const nameOf = (kind: string, id: string): string => `${kind} ${id}`;

export function postgresRecordWakes(settings: ChannelSettings): RecordWakes {
  const told = raw(literal(settings.channel));
  const first = firstLock(settings.channel);
  const announcing = `SELECT pg_advisory_lock_shared(${first} + place) FROM generate_series(0, ${LOCKS - 1}) AS place`;
  const listeners = new RecordListeners(settings.clock, {
    join: () => {
      channel.keep();
      return channel.isOpen;
    },
    close: () => channel.drop(),
  });
  const channel = new PostgresChannel(
    { ...settings, announcing },
    {
      isNeeded: () => listeners.size > 0,
      heard: (name) => listeners.wake(name ?? ''),
      opened: () => {
        for (const name of listeners.names) listeners.opened(name);
      },
      lost: () => listeners.lost(),
    },
  );
  return {
    telling: (change, kind, id) =>
      sql`${change} RETURNING CASE WHEN NOT pg_try_advisory_xact_lock(${first + placeOf(id)}) THEN pg_notify(${told}, ${nameOf(kind, id)})::text END`,
    listen: (kind, id, wake) => listeners.listen(nameOf(kind, id), wake),
    close: () => listeners.close(),
  };
}
