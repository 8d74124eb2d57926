import type { Entry } from '../../../../src/connections/contract';
import { debounceKey, type UniqueTie, uniqueKey, withTies } from '../../../../src/payload/ties';
import { TestClock } from '../../../../src/testing/test-clock';
import { idOf, payload, reserve, TemporaryDatabase } from '../open-database';

let database: TemporaryDatabase;

beforeEach(() => {
  database = new TemporaryDatabase();
});

afterEach(() => database.dispose());

interface Handle {
  exec(text: string): void;
  close(): void;
}

function open(): Handle {
  const Libsql = require('libsql') as new (file: string) => Handle;
  return new Libsql(database.file);
}

function tied(id: string, key = 'one', until: UniqueTie['until'] = 'end'): Entry {
  const ties = { unique: { key: uniqueKey('Probe', key), until } };
  return { payload: withTies(payload(id), ties), ties };
}

function debounced(id: string, key = 'one'): Entry {
  const ties = { debounce: { key: debounceKey('Probe', key, 'default') } };
  return { payload: withTies(payload(id), ties), ties, delay: 60 };
}

describe('unique keys in a SQLite file', () => {
  it('of a bulk in several pages have their results in the order of the jobs', async () => {
    const connection = database.connect();
    const entries = Array.from({ length: 600 }, (_, at) => tied(`job-${at}`, String(at % 590)));
    const results = (await connection.push('default', entries))!;
    expect(results.slice(0, 590)).toEqual(Array.from({ length: 590 }, () => 'queued'));
    expect(results.slice(590)).toEqual(Array.from({ length: 10 }, (_, at) => ({ duplicate: `job-${at}` })));
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 590 });
  });

  it('are taken within a user transaction, and free again if it is rolled back', async () => {
    const connection = database.connect();
    await connection.push('default', [tied('a')]);
    const handle = open();
    handle.exec('BEGIN');
    const within = connection.within(handle)!;
    expect(await within.push('default', [tied('b'), tied('c', 'two'), tied('d', 'two')])).toEqual([
      { duplicate: 'a' },
      'queued',
      { duplicate: 'c' },
    ]);
    handle.exec('ROLLBACK');
    handle.close();
    expect((await connection.push('default', [tied('e', 'two')])) ?? ['queued']).toEqual(['queued']);
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'e']);
  });

  it('of debounced jobs are taken within a user transaction, and replaced jobs are restored if it is rolled back', async () => {
    const connection = database.connect();
    await connection.push('default', [debounced('a')]);
    const handle = open();
    handle.exec('BEGIN');
    const within = connection.within(handle)!;
    const first = await within.push('default', [debounced('b'), debounced('c')]);
    expect(first).toEqual([{ replaced: 'a' }, { replaced: 'b' }]);
    handle.exec('ROLLBACK');
    handle.close();
    expect(await connection.push('default', [debounced('d')])).toEqual([{ replaced: 'a' }]);
    expect(await connection.queues.counts('default')).toMatchObject({ delayed: 1 });
  });

  it('of debounced jobs in a bulk of several pages have their results in the order of the jobs', async () => {
    const connection = database.connect();
    const entries = Array.from({ length: 600 }, (_, at) => debounced(`job-${at}`, String(at % 590)));
    const results = (await connection.push('default', entries))!;
    expect(results.slice(0, 590)).toEqual(Array.from({ length: 590 }, () => 'queued'));
    expect(results.slice(590)).toEqual(Array.from({ length: 10 }, (_, at) => ({ replaced: `job-${at}` })));
    expect(await connection.queues.counts('default')).toMatchObject({ delayed: 590 });
  });

  it('are freed with a row that is removed by hand', async () => {
    const connection = database.connect();
    await connection.push('default', [tied('a')]);
    const handle = open();
    handle.exec('DELETE FROM jobs');
    handle.close();
    expect((await connection.push('default', [tied('b')])) ?? ['queued']).toEqual(['queued']);
  });

  it('held until the start are taken again after a crash, if no other job has them', async () => {
    const clock = new TestClock();
    const connection = database.connect({}, { clock });
    await connection.push('default', [tied('a', 'one', 'start'), tied('b', 'two', 'start')]);
    expect((await reserve(connection, { lease: 30 })).map(idOf)).toEqual(['a', 'b']);
    await connection.push('default', [tied('c', 'two', 'start')]);
    await clock.advance(31);
    await reserve(connection, { limit: 0 });
    const again = [tied('d', 'one', 'start'), tied('e', 'two', 'start')];
    expect(await connection.push('default', again)).toEqual([{ duplicate: 'a' }, { duplicate: 'c' }]);
  });
});
