import fs from 'node:fs';
import type { NewBatch } from '../../../../src/connections/batch-store';
import type { Reservation, Settlement } from '../../../../src/connections/contract';
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { withTies } from '../../../../src/payload/ties';
import { BATCH, callback, callbacksTo, link, member } from '../../../../src/testing/conformance/batch-cases';
import { completed, failed } from '../../../../src/testing/conformance/world';
import { TestClock } from '../../../../src/testing/test-clock';
import { idOf, payload, reserve, TemporaryDatabase } from '../open-database';
import { settleIn, waitOn } from '../../../support/exchange';

let database: TemporaryDatabase;
let connection: SqlConnection;

beforeEach(() => {
  database = new TemporaryDatabase();
  connection = database.connect();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await database.dispose();
});

const batch: NewBatch = { id: BATCH, name: 'images', allowsFailures: false, callbacks: callbacksTo('callbacks') };

/** Runs statements on the file, as another program. */
function alter(text: string): void {
  const Libsql = require('libsql') as new (file: string) => { exec(text: string): void; close(): void };
  const handle = new Libsql(database.file);
  handle.exec(text);
  handle.close();
}

async function counts(): Promise<unknown> {
  const { pending, completed: done, failed: broken, skipped } = (await connection.batches!.find(BATCH))!;
  return { pending, completed: done, failed: broken, skipped };
}

const sent = async (): Promise<unknown> => (await reserve(connection, { queues: ['callbacks'] })).map(idOf);

/** A trigger that makes callbacks and links fail. */
const BROKEN = `CREATE TRIGGER broken BEFORE INSERT ON jobs WHEN NEW.queue IN ('callbacks', 'links')
  BEGIN SELECT RAISE(ABORT, 'broken'); END`;

/** Each settles the last job of the batch or adds to it, and fails half way while `BROKEN` is there. */
const STEPS: readonly [what: string, settlement: (job: Reservation) => Settlement, after: unknown][] = [
  ['completes', completed, { pending: 0, completed: 1, failed: 0, skipped: 0 }],
  ['fails', failed, { pending: 0, completed: 0, failed: 1, skipped: 0 }],
  ['goes on', (job) => link(job, 'b', 1, 'links'), { pending: 1, completed: 1, failed: 0, skipped: 0 }],
];

describe('batches in a SQLite file', () => {
  it.each(STEPS)(
    'count a job once that %s in a step which is rolled back the first time',
    async (_, settlement, after) => {
      await connection.push('default', [member('a')], batch);
      const [job] = await reserve(connection);
      alter(BROKEN);
      await expect(settleIn(connection, [settlement(job!)])).rejects.toThrow(/broken/);
      expect(await counts()).toEqual({ pending: 1, completed: 0, failed: 0, skipped: 0 });
      alter('DROP TRIGGER broken');
      expect(await settleIn(connection, [settlement(job!)])).toEqual(['settled']);
      expect(await counts()).toEqual(after);
    },
  );

  it('stay unchanged if their callbacks are refused during a seal, a clear or a cancel', async () => {
    await connection.push('default', [member('a')], batch);
    await connection.push('default', [], { ...batch, id: 'open', openFor: 60 });
    alter(BROKEN);
    await expect(connection.queues.clear('default')).rejects.toThrow(/broken/);
    await expect(connection.control.cancel('a')).rejects.toThrow(/broken/);
    await expect(connection.batches!.seal('open')).rejects.toThrow(/broken/);
    alter('DROP TRIGGER broken');
    expect(await counts()).toMatchObject({ pending: 1, skipped: 0 });
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 1 });
    expect(await connection.batches!.seal('open')).toBe(true);
    expect(await connection.control.cancel('a')).toBe('removed');
    expect(await counts()).toMatchObject({ pending: 0, skipped: 1 });
  });

  it('each count their own jobs that end in one call', async () => {
    await connection.push('default', [member('a')], batch);
    const ties = { batch: { id: 'batch-2', weight: 1 } };
    await connection.push('default', [{ payload: withTies(payload('b'), ties), ties }], {
      ...batch,
      id: 'batch-2',
      callbacks: [callback('then', 'callbacks', 'second')],
    });
    await settleIn(connection, (await reserve(connection)).map(completed));
    expect(await counts()).toMatchObject({ completed: 1 });
    expect(await connection.batches!.find('batch-2')).toMatchObject({ completed: 1 });
    expect(await sent()).toEqual(['then', 'finally', 'next', 'second']);
  });

  it('that take no more jobs refuse only their own jobs among simultaneous pushes', async () => {
    await connection.queues.names();
    const pushed = await Promise.allSettled([
      connection.push('default', [{ payload: payload('a') }]),
      connection.push('default', [member('b')]),
      connection.push('default', [{ payload: payload('c') }]),
      connection.push('default', [member('d')], batch),
    ]);
    expect(pushed.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'c', 'd']);
  });

  it('count all jobs that a clear of several calls removes, whatever their payloads contain', async () => {
    await connection.push('default', [], { ...batch, openFor: 60 });
    const long = (at: number): string => `${'ü'.repeat(at)}","ties":"b${BATCH}*9`;
    for (let page = 0; page < 6; page += 1) {
      const members = Array.from({ length: 100 }, (_, at) => member(`job-${page}-${at}`, 2));
      await connection.push('default', members);
      await connection.push('default', [{ payload: payload(long(page)) }, { payload: `no JSON ${page}` }]);
    }
    expect(await connection.queues.clear('default')).toBe(612);
    expect(await counts()).toEqual({ pending: 0, completed: 0, failed: 0, skipped: 1200 });
  });

  it.each([
    ['its last job ends', async () => void (await settleIn(connection, (await reserve(connection)).map(completed)))],
    ['its last job is cancelled', async () => void (await connection.control.cancel('a'))],
    ['its queue is cleared', async () => void (await connection.queues.clear('default'))],
    ['it begins without jobs', async () => void (await connection.push('default', [], { ...batch, id: 'empty' }))],
  ])('wake waiters for their callbacks when %s', async (_, end) => {
    // Neither changes of the file nor the look once a second can wake it.
    jest.spyOn(fs, 'watch').mockImplementation(() => {
      throw new Error('no watchers left');
    });
    connection = database.connect({}, { clock: new TestClock() });
    await connection.push('default', [member('a')], batch);
    const wait = waitOn(connection, ['callbacks'], 30, new AbortController().signal);
    await end();
    await wait;
    expect(await sent()).not.toEqual([]);
  });
});
