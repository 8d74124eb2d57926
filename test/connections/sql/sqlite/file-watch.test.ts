import { EventEmitter } from 'node:events';
import fs from 'node:fs';
import { systemClock, type Clock } from '../../../../src/base/clock';
import { openSqlite } from '../../../../src/connections/sql/sqlite/engine';
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { payload, reserve, TemporaryDatabase } from '../open-database';
import { waitOn } from '../../../support/exchange';

let database: TemporaryDatabase;
let connection: SqlConnection;

beforeEach(async () => {
  database = new TemporaryDatabase();
  connection = database.connect();
  await reserve(connection);
});

afterEach(async () => {
  jest.restoreAllMocks();
  await database.dispose();
});

async function wait(queue = 'default', signal?: AbortSignal): Promise<void> {
  await waitOn(connection, [queue], 3600, signal);
}

/** Inserts a job like another process: no part of Onqueue in this process notices. */
function insertElsewhere(): void {
  openSqlite(database.file, 1000).exec(
    `INSERT INTO jobs (queue, payload, available_at, created_at) VALUES ('default', '${payload('a')}', 1, 1)`,
  );
}

function withoutWatching(): void {
  jest.spyOn(fs, 'watch').mockImplementation(() => {
    throw new Error('ENOSPC: System limit for number of file watchers reached');
  });
}

/** Disables the look that comes once a second. */
function withoutNet(): void {
  const { after } = systemClock;
  jest
    .spyOn(systemClock, 'after')
    .mockImplementation((...call: Parameters<Clock['after']>) =>
      call[0] === 1000 ? { cancel: () => undefined } : after(...call),
    );
}

describe('a wait on a file', () => {
  it('is woken by the write-ahead log when another process writes', async () => {
    withoutNet();
    const waiting = wait();
    insertElsewhere();
    await expect(waiting).resolves.toBeUndefined();
  });

  it('is woken once a second if the file system reports nothing', async () => {
    withoutWatching();
    const waiting = wait();
    insertElsewhere();
    await expect(waiting).resolves.toBeUndefined();
  });

  it('is woken at once by a push of this process, on any connection', async () => {
    withoutWatching();
    withoutNet();
    const waiting = wait();
    await database.connect().push('default', [{ payload: payload('a') }]);
    await expect(waiting).resolves.toBeUndefined();
  });

  it('continues when a job is pushed to another queue, by this process or another', async () => {
    const woken: string[] = [];
    const waiting = wait('other').then(() => woken.push('other'));
    insertElsewhere();
    await connection.push('default', [{ payload: payload('b') }]);
    await wait();
    expect(woken).toEqual([]);
    await connection.push('other', [{ payload: payload('c') }]);
    await waiting;
  });

  it('stops watching when it ends', async () => {
    const close = jest.fn();
    jest.spyOn(fs, 'watch').mockReturnValue(Object.assign(new EventEmitter() as fs.FSWatcher, { close }));
    const end = new AbortController();
    const waiting = wait('default', end.signal);
    end.abort();
    await waiting;
    expect(close).toHaveBeenCalledTimes(1);
  });
});
