/** Tests of recounts of batches in the tables of a server, while workers use them. */
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { reserve } from '../open-database';
import { begin, completed, counted, newBatch, sent } from './batches';
import type { ServerWorld } from './server-world';
import { soakSize } from '../../../support/soak-size';
import { settleIn } from '../../../support/exchange';

const repair = { repair: true };

export function describeRecount(world: ServerWorld): void {
  const remove = (condition: string): Promise<unknown> => world.rows(`DELETE FROM ${world.table} WHERE ${condition}`);

  describe(`a batch in ${world.name} whose jobs were removed by hand`, () => {
    it('is counted again', async () => {
      const connection = await world.open();
      await begin(connection, ['a', 'b', 'c']);
      await begin(connection, ['d'], newBatch('other'));
      await remove("uuid = 'b'");
      const found = [{ kind: 'miscounted', batch: 'batch', pending: 3, found: 2 }];
      expect(await connection.keys.recount!({ repair: false })).toEqual(found);
      expect(await counted(connection)).toEqual([3, 0, 0, 0]);
      expect(await connection.keys.recount!(repair)).toEqual(found);
      expect(await counted(connection)).toEqual([2, 0, 0, 1]);
      expect(await connection.keys.recount!(repair)).toEqual([]);
    });

    it('finishes if none are left, and sends its callbacks', async () => {
      const connection = await world.open();
      await begin(connection, ['a', 'b']);
      const [a] = await reserve(connection, { limit: 1 });
      await settleIn(connection, [completed(a!)]);
      await remove("queue = 'default'");
      await connection.keys.recount!(repair);
      expect(await counted(connection)).toEqual([0, 1, 0, 1]);
      expect(await sent(connection)).toEqual(['finally-batch', 'next-batch']);
    });
  });

  describe(`sound batches in ${world.name}`, () => {
    it('are found sound, however many clients push and settle their jobs meanwhile', async () => {
      const connection = await world.open();
      const clients: readonly SqlConnection[] = Array.from({ length: 4 }, () => world.connect());
      let isOver = false;
      const work = async (client: SqlConnection, at: number): Promise<void> => {
        for (let round = 0; round < soakSize(5); round += 1) {
          const batch = newBatch(`batch-${at}-${round}`);
          await begin(client, [`${batch.id}-a`, `${batch.id}-b`, `${batch.id}-c`], batch);
          await settleIn(client, (await reserve(client, { limit: 2 })).map(completed));
        }
      };
      const working = Promise.all(clients.map(work)).finally(() => (isOver = true));
      let looks = 0;
      while (!isOver) {
        expect(await connection.keys.recount!(repair)).toEqual([]);
        looks += 1;
      }
      await working;
      expect(looks).toBeGreaterThan(1);
      expect(await connection.keys.recount!(repair)).toEqual([]);
    });
  });
}
