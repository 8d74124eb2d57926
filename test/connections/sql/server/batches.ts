/** Tests of batches for each database server, with many clients and lost answers. */
import type { BatchCallback, NewBatch } from '../../../../src/connections/batch-store';
import type { Entry, Reservation, Settlement } from '../../../../src/connections/contract';
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { withTies } from '../../../../src/payload/ties';
import { idOf, payload, reserve } from '../open-database';
import type { ServerWorld } from './server-world';
import { soakSize } from '../../../support/soak-size';
import { settleIn } from '../../../support/exchange';

/** A job of a batch. */
export function member(id: string, batch = 'batch'): Entry {
  const ties = { batch: { id: batch, weight: 1 } };
  return { payload: withTies(payload(id), ties), ties };
}

const EVENTS = ['then', 'catch', 'finally', 'next'] as const;

/** A batch whose callbacks have the ids of their event and batch. */
export function newBatch(id = 'batch', options: Partial<NewBatch> = {}): NewBatch {
  const callbacks = EVENTS.map((on): BatchCallback => {
    return { on, queue: 'callbacks', head: '{"job":"probe","data":{},', id: `${on}-${id}` };
  });
  return { id, name: 'images', allowsFailures: true, callbacks, ...options };
}

export async function begin(
  connection: Pick<SqlConnection, 'push'>,
  ids: readonly string[],
  batch = newBatch(),
): Promise<void> {
  const entries = ids.map((id) => member(id, batch.id));
  expect((await connection.push('default', entries, batch)) ?? []).toEqual([]);
}

export const completed = (reservation: Reservation): Settlement => ({ outcome: 'completed', reservation });

export const failed = (reservation: Reservation): Settlement => ({
  ...{ outcome: 'failed', reservation, counters: reservation.counters },
  failure: { id: String(idOf(reservation)), name: 'Probe', exception: 'Error' },
  cause: { id: String(idOf(reservation)), name: 'Probe', message: 'broken' },
});

/** The ids of the callbacks that were sent since the last call. */
export async function sent(connection: SqlConnection): Promise<readonly unknown[]> {
  const reservations = await reserve(connection, { queues: ['callbacks'] });
  await settleIn(connection, reservations.map(completed));
  return reservations.map(idOf).toSorted();
}

/** The counts of pending, completed, failed and skipped jobs. */
export async function counted(connection: SqlConnection, id = 'batch'): Promise<readonly (number | undefined)[]> {
  const batch = await connection.batches!.find(id);
  return [batch?.pending, batch?.completed, batch?.failed, batch?.skipped];
}

const shuffled = <T>(list: readonly T[], at: number): readonly T[] => (at % 2 === 0 ? list : list.toReversed());

/** Several connections to the same tables. */
async function connections(world: ServerWorld, count: number): Promise<readonly SqlConnection[]> {
  const first = await world.open();
  return [first, ...Array.from({ length: count - 1 }, () => world.connect())];
}

export function describeBatches(world: ServerWorld): void {
  describe(`a batch in ${world.name} with lost answers`, () => {
    it.each([1, 2, 3])('counts each pushed job once (%d answers lost in a row)', async (lost) => {
      const { connection, proxy } = await world.openThrough('push');
      proxy.loseReplies(lost);
      await begin(connection, ['a', 'b']);
      proxy.loseReplies(lost);
      await connection.push('default', [member('c'), member('d')]);
      expect(await counted(connection)).toEqual([4, 0, 0, 0]);
      expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b', 'c', 'd']);
    });

    it('finishes at once and only once if it has no jobs', async () => {
      const { connection, proxy } = await world.openThrough('push');
      proxy.loseReplies(2);
      await begin(connection, []);
      expect(await sent(connection)).toEqual(['finally-batch', 'next-batch', 'then-batch']);
    });

    it('accepts the repeat of a push even if it has finished meanwhile', async () => {
      const { connection, proxy } = await world.openThrough('push');
      await begin(connection, ['a']);
      const cut = proxy.holdReplies();
      const pushing = connection.push('default', [member('b')]);
      const other = world.connect();
      const held = [...(await reserve(other))];
      while (held.length < 2) held.push(...(await reserve(other)));
      await settleIn(other, held.map(completed));
      proxy.cut();
      cut();
      await pushing;
      expect(await counted(connection)).toEqual([0, 2, 0, 0]);
      expect(await sent(connection)).toEqual(['finally-batch', 'next-batch', 'then-batch']);
    });

    it.each([1, 2, 3, 4])('counts each end and sends each callback once (answer to settle %d lost)', async (nth) => {
      const { connection, proxy } = await world.openThrough('exchange');
      await begin(connection, ['a', 'b', 'c']);
      const [a, b, c] = (await reserve(connection)) as [Reservation, Reservation, Reservation];
      const next = [{ queue: 'default', entry: member('d') }];
      const request = { queues: ['default'], limit: 1, lease: 60 };
      const link: Reservation[] = [];
      const calls = [
        () => settleIn(connection, [failed(a)]),
        async () => {
          const answer = await connection.exchange([{ outcome: 'completed', reservation: b, next }], request);
          link.push(...answer.reply.reservations);
          return answer.results;
        },
        () => settleIn(connection, [{ outcome: 'cancelled', reservation: c }]),
        () => settleIn(connection, link.map(completed)),
      ];
      for (const [at, call] of calls.entries()) {
        proxy.loseReplies(at + 1 === nth ? 2 : 0);
        expect(await call()).toEqual(['settled']);
      }
      expect(await counted(connection)).toEqual([0, 2, 1, 1]);
      expect(await sent(connection)).toEqual(['catch-batch', 'finally-batch', 'next-batch']);
    });

    it('counts a job once that is settled again after all answers until the deadline were lost', async () => {
      const { connection, proxy } = await world.openThrough('exchange');
      await begin(connection, ['a', 'b']);
      const [a, b] = (await reserve(connection)) as [Reservation, Reservation];
      const given = world.inVain(proxy, () => settleIn(connection, [completed(a)]));
      await expect(given).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
      expect(await settleIn(connection, [completed(a), completed(b)])).toEqual(['settled', 'settled']);
      expect(await counted(connection)).toEqual([0, 2, 0, 0]);
      expect(await sent(connection)).toEqual(['finally-batch', 'next-batch', 'then-batch']);
    });
  });

  describe(`batches in ${world.name} with many clients at once`, () => {
    it('are counted right and finish once, although each client settles jobs of several batches in its own order', async () => {
      const clients = await connections(world, 8);
      const [first] = clients as [SqlConnection];
      for (let round = 0; round < soakSize(6); round += 1) {
        const batches = ['x', 'y', 'z'].map((name) => `${name}${round}`);
        for (const id of batches) {
          await begin(
            first,
            clients.map((_, at) => `${id}-${at}`),
            newBatch(id),
          );
        }
        const held = await reserve(first);
        const settling = clients.map((client, at) => {
          const own = held.filter((reservation) => String(idOf(reservation)).endsWith(`-${at}`));
          return settleIn(client, shuffled(own, at).map(at < 6 ? completed : failed));
        });
        expect(new Set((await Promise.all(settling)).flat())).toEqual(new Set(['settled']));
        for (const id of batches) expect(await counted(first, id)).toEqual([0, 6, 2, 0]);
        const events = ['catch', 'finally', 'next'];
        expect(await sent(first)).toEqual(events.flatMap((event) => batches.map((id) => `${event}-${id}`)).toSorted());
      }
    });

    it('lose no job while clients push, settle, cancel, clear and retry', async () => {
      const clients = await connections(world, 8);
      const [first] = clients as [SqlConnection];
      for (let round = 0; round < soakSize(6); round += 1) {
        const batches = ['x', 'y'].map((name) => `${name}${round}`);
        for (const id of batches) {
          await begin(
            first,
            clients.map((_, at) => `${id}-${at}`),
            newBatch(id, { openFor: 60 }),
          );
        }
        const held = await reserve(first, { limit: 12 });
        await settleIn(first, held.slice(0, 2).map(failed));
        const entries = await Promise.all(held.slice(0, 2).map(async (one) => first.failed.find(String(idOf(one)))));
        const [, second, third, fourth, fifth, ...others] = clients as readonly SqlConnection[];
        await Promise.all([
          ...others.map((client, at) =>
            settleIn(client, shuffled(held.slice(2 + 3 * at, 5 + 3 * at), at).map(completed)),
          ),
          ...batches.map((id, at) => clients[at]!.push('default', [member(`${id}-new`, id)])),
          ...entries.flat().map((entry, at) => [second, third][at]!.failed.retry(entry, entry.payload)),
          fourth!.queues.clear('default'),
          fifth!.control.cancel(`${batches[1]!}-7`),
        ]);
        const left = [...(await reserve(first)), ...held.slice(11)];
        await settleIn(first, left.map(completed));
        await Promise.all(batches.map((id) => first.batches!.seal(id)));
        for (const id of batches) {
          const [pending, done, broken, skipped] = (await counted(first, id)) as readonly number[];
          expect([pending, done! + skipped!, broken]).toEqual([0, 9, 0]);
        }
        expect((await sent(first)).filter((id) => String(id).startsWith('finally'))).toHaveLength(2);
      }
    });
  });

  describe(`a user transaction on ${world.name}`, () => {
    it('leaves nothing of a new batch and of jobs added to another one if it is rolled back', async () => {
      const connection = await world.open();
      await begin(connection, ['a']);
      const client = await world.client();
      await client.query('BEGIN');
      await begin(connection.within(client)!, ['b'], newBatch('other'));
      await connection.within(client)!.push('default', [member('c')]);
      expect(await connection.batches!.find('other')).toBeUndefined();
      await client.query('ROLLBACK');
      expect(await connection.batches!.find('other')).toBeUndefined();
      expect(await counted(connection)).toEqual([1, 0, 0, 0]);
      expect((await reserve(connection)).map(idOf)).toEqual(['a']);
    });
  });
}
