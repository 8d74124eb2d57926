import { Child } from '../../support/child-process';
import { allJobs } from '../../support/all-jobs';
import { idOf, payload, reserve, TemporaryDatabase } from './open-database';
import { openSqlite } from '../../../src/connections/sql/sqlite/engine';
import { waitOn } from '../../support/exchange';

let database: TemporaryDatabase;
const children: Child[] = [];

function start(what: string, ...args: string[]): Child {
  const child = new Child(require.resolve('./child'), database.file, what, ...args);
  children.push(child);
  return child;
}

beforeEach(() => {
  database = new TemporaryDatabase();
});

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()));
  await database.dispose();
});

/** The ids in the lines that begin with `word`. */
const idsAfter = (word: string, lines: readonly string[]): string[] =>
  lines.filter((line) => line.startsWith(`${word} `)).flatMap((line) => line.split(' ').slice(1));

describe('a file that several processes share', () => {
  it('shows each process the jobs that another one pushed', async () => {
    await start('push', 'theirs').exited;
    const connection = database.connect();
    await connection.push('default', [{ payload: payload('ours') }]);
    expect((await reserve(connection)).map(idOf)).toEqual(['theirs', 'ours']);
  });

  it('wakes a waiting process when another one pushes', async () => {
    const connection = database.connect();
    expect(await reserve(connection)).toEqual([]);
    const wait = waitOn(connection, ['default'], 3600, new AbortController().signal);
    start('push', 'theirs');
    await wait;
    expect((await reserve(connection)).map(idOf)).toEqual(['theirs']);
  });

  it('gives each job to one of the competing processes', async () => {
    const ids = Array.from({ length: 600 }, (_, index) => `job-${index}`);
    await database.connect().push(
      'default',
      ids.map((id) => ({ payload: payload(id) })),
    );
    const drains = [start('drain'), start('drain')];
    expect(await Promise.all(drains.map((child) => child.exited))).toEqual([0, 0]);
    const settled = drains.flatMap(({ lines }) => idsAfter('settled', lines));
    expect(settled.toSorted()).toEqual(ids.toSorted());
  });

  it('loses no confirmed push and repeats no settled job when a process is killed at work', async () => {
    for (const name of ['first', 'second', 'third']) {
      const child = start('work', name);
      await child.said(60);
      await child.kill();
    }
    const lines = children.flatMap((child) => child.lines);
    const pushed = idsAfter('pushed', lines);
    const ended = idsAfter('ended', lines);
    const perhapsEnded = idsAfter('ending', lines);
    const connection = database.connect();
    const left = [
      ...(await allJobs(connection, 'default', 'ready')),
      ...(await allJobs(connection, 'default', 'reserved')),
    ].map(idOf);
    expect(left.filter((id) => ended.includes(String(id)))).toEqual([]);
    const kept = new Set([...left, ...perhapsEnded]);
    expect(pushed.filter((id) => !kept.has(id))).toEqual([]);
    expect(new Set(left).size).toBe(left.length);
    const integrity = openSqlite(database.file, 0).prepare(
      'SELECT CAST(integrity_check AS BLOB) FROM pragma_integrity_check',
    );
    expect(String(integrity.get([])?.[0])).toBe('ok');
  });

  it('undoes the transaction of a killed process and frees the file for others', async () => {
    const connection = database.connect();
    await connection.push('default', [{ payload: payload('a') }]);
    const child = start('standInTransaction');
    await child.said(1);
    const push = connection.push('default', [{ payload: payload('b') }]);
    await child.kill();
    await push;
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
  });
});

describe('a process with a connection', () => {
  it('ends by itself even if nothing was closed', async () => {
    expect(await start('push').exited).toBe(0);
  });

  it('is not kept alive by a wait', async () => {
    expect(await start('idle').exited).toBe(0);
  });

  it('is kept alive by a push that waits for a busy file, until its deadline', async () => {
    await reserve(database.connect());
    const holder = start('standInTransaction');
    await holder.said(1);
    const pusher = start('pushWithin', '0.3');
    expect(await pusher.exited).toBe(0);
    expect(pusher.lines).toEqual(['E_QUEUE_UNAVAILABLE']);
  });
});
