/** Tests of jobs with lanes that many clients move at once, for each database server. */
import type { Entry, Reservation } from '../../../../src/connections/contract';
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { readTies, withTies, type LaneTie } from '../../../../src/payload/ties';
import { eventually } from '../../../support/eventually';
import { reserveFrom, settleIn } from '../../../support/exchange';
import { LaneModel, steps } from '../../../support/lane-model';
import * as fc from '../../../support/properties';
import { soakSize } from '../../../support/soak-size';
import { idOf, payload, reserve } from '../open-database';
import type { ServerWorld } from './server-world';

const LIMITS: Readonly<Record<string, number>> = { a: 1, b: 3, c: 10, d: 2 };

export function laned(id: string, tie: Partial<LaneTie> = {}): Entry {
  const ties = { lane: { key: 'a', running: 1, ordered: false, ...tie } };
  return { payload: withTies(payload(id), ties), ties };
}

const completed = (reservation: Reservation) => ({ outcome: 'completed', reservation }) as const;

/** Whoever begins a transaction of their own on this server. */
interface Transactions {
  readonly begin: (world: ServerWorld) => Promise<{ readonly client: object; readonly commit: () => Promise<unknown> }>;
}

export function describeLanes(world: ServerWorld, { begin }: Transactions): void {
  it(`lanes in ${world.name} let in what they may, and hold no more`, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        world.fresh();
        const advance = (seconds: number): void => void (world.offset += seconds);
        const model = new LaneModel({ connection: await world.open(), advance });
        for (const step of sequence) await model.take(step);
        await world.closeAll();
      }),
      { numRuns: soakSize(4) },
    );
  });

  describe(`lanes in ${world.name}`, () => {
    it('let in no more than they may while eight clients push and four work, and all jobs run', async () => {
      const first = await world.open();
      const clients = [first, ...Array.from({ length: 11 }, () => world.connect())];
      const most = new Map<string, number>();
      let isOver = false;
      const watching = (async () => {
        // In one statement: a snapshot.
        const count = `SELECT lane AS lane_key, COUNT(*) AS inside FROM ${world.table} WHERE reserved_at IS NOT NULL GROUP BY lane`;
        while (!isOver) {
          for (const row of await world.rows(count)) {
            const key = String(row['lane_key']);
            most.set(key, Math.max(most.get(key) ?? 0, Number(row['inside'])));
          }
        }
      })();
      const rounds = soakSize(12);
      const pushing = Promise.all(
        clients.slice(0, 8).map(async (client, number) => {
          for (let round = 0; round < rounds; round += 1) {
            const keys = Object.keys(LIMITS).slice((number + round) % 3);
            const entries = keys.map((key) => laned(`${number}-${round}-${key}`, { key, running: LIMITS[key]! }));
            await client.push('default', entries);
          }
        }),
      );
      const ids: unknown[] = [];
      const work = async (connection: SqlConnection): Promise<void> => {
        for (let held: readonly Reservation[] = []; !isOver;) {
          const wanted = { queues: ['default'], limit: 5, lease: 600 };
          const { results, reply } = await connection.exchange(held.map(completed), wanted);
          expect(new Set(results)).toEqual(new Set(held.length > 0 ? ['settled'] : []));
          held = reply.reservations;
          ids.push(...held.map(idOf));
        }
      };
      const working = Promise.all(clients.slice(8).map(work));
      await pushing;
      await eventually(async () => {
        const { ready, reserved } = await first.queues.counts('default');
        return ready + reserved === 0;
      });
      isOver = true;
      await Promise.all([working, watching]);

      const sent = 8 * rounds * 3;
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toHaveLength(sent);
      for (const [key, inside] of most) expect(inside).toBeLessThanOrEqual(LIMITS[key]!);
    });

    it('are not locked by a transaction of a user that pushes to them', async () => {
      const connection = await world.open();
      await connection.push('default', [laned('a'), laned('b')]);
      const { client, commit } = await begin(world);
      await connection.within(client)!.push('default', [laned('c')]);
      const [a] = await reserve(connection);
      await settleIn(connection, [completed(a!)]);
      await commit();
      const [b] = await reserve(connection);
      expect(idOf(b!)).toBe('b');
      await settleIn(connection, [completed(b!)]);
      expect((await reserve(connection)).map(idOf)).toEqual(['c']);
    });

    it('let in the next when jobs were removed by hand, once all others are held', async () => {
      const connection = await world.open();
      await connection.push('default', [laned('a'), laned('b')]);
      await world.rows(`DELETE FROM ${world.table} WHERE place IS NOT NULL`);
      const { reservations } = await reserveFrom(connection, { queues: ['default'], limit: 10, lease: 60 });
      expect(reservations.map(idOf)).toEqual(['b']);
    });

    it('let in the next at a recount when jobs were removed by hand', async () => {
      const connection = await world.open();
      await connection.push('default', [laned('a'), laned('b'), { payload: payload('plain') }]);
      await world.rows(`DELETE FROM ${world.table} WHERE lane_order = 0`);
      const crowded = { kind: 'crowded', queue: 'default', lane: 'a', inside: 1, found: 0 };
      expect(await connection.keys.recount({ repair: false })).toEqual([crowded]);
      expect(await connection.keys.recount({ repair: true })).toEqual([crowded]);
      expect((await reserve(connection)).map(({ payload: text }) => readTies(text)?.lane?.key)).toEqual([
        undefined,
        'a',
      ]);
      expect(await connection.keys.recount({ repair: true })).toEqual([]);
    });

    it('that are empty leave no rows behind', async () => {
      const connection = await world.open();
      for (let round = 0; round < 40; round += 1) {
        await connection.push('default', [laned(`${round}`, { key: `lane-${round}` })]);
        await settleIn(connection, (await reserve(connection)).map(completed));
      }
      await connection.keys.recount({ repair: true });
      const [row] = await world.rows(`SELECT COUNT(*) AS left_over FROM ${world.table}_lanes`);
      expect(Number(row!['left_over'])).toBe(0);
      expect(await connection.lanes.list('default')).toEqual({ lanes: [] });
    });
  });
}
